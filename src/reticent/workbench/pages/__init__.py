"""One module a page: the addresses that it answers, the parts that it shows, and the changes of the policy that it makes."""
