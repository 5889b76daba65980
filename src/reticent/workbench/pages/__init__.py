"""One module per page: its routes, its page parts, and the edits of the policy that it makes."""
