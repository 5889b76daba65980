"""The workbench: from a file to a certified release in one browser tab, on this machine alone.

``server``    the application and the command; ``security`` who may speak to it, and what pages may load
``project``   one folder a project: the policy, which is the state, with every version that it had; ``edits`` what a click means for it
``jobs``      work in processes of its own; ``worker`` such a process, ``tasks`` what it does, ``stamps`` what changes when a file does
``desk``      what all pages share; ``pages`` one module a page, ``rail`` the state of the problem beside them, ``scripts`` the same by other means;
              ``definition_words`` what pages call definitions and their parameters
``figures``   pictures; ``templates`` and ``static`` the pages, their style and their scripts (``static/vendor``: htmx, with licence and hash)
"""

from reticent.workbench.server import serve

__all__ = ["serve"]
