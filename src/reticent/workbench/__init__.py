"""The workbench: from a file to a certified release in one browser tab, on this machine alone.

``server``    the web application and the command; ``security`` authentication, host and origin checks, response headers
``project``   one folder per project with all versions of its policy; ``edits`` changes of the policy that pages make
``jobs``      background jobs; ``worker`` a worker process, ``tasks`` the functions it runs, ``stamps`` detection of changed source files
``desk``      state and rendering shared by all pages; ``pages`` one module per page, ``rail`` the sidebar, ``scripts`` the equivalent command and script;
              ``definition_words`` readable names of definitions and their parameters, ``problem_words`` error messages in words of the pages
``figures``   SVG charts; ``templates`` and ``static`` HTML templates, style sheets and scripts (``static/vendor``: htmx, with licence and hash)
"""

from reticent.workbench.server import serve

__all__ = ["serve"]
