"""What a notebook says for JupyterLab, made fit for the built page.

JupyterLab opens a link to another page by its file's name, as {doc}`09_cost.ipynb`. Sphinx knows
pages without it. And it shows nothing where a page takes code from a file; a box of the class
`lab` says where the file is, and is left out of the built page.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

CLASS = "lab"


class Lab(SphinxTransform):
    """Takes the ending off links to pages, and the boxes for JupyterLab off the page."""

    default_priority = 400

    def apply(self):
        for link in self.document.findall(addnodes.pending_xref):
            if link["reftype"] == "doc":
                link["reftarget"] = link["reftarget"].removesuffix(".ipynb").removesuffix(".md")
        for box in list(self.document.findall(nodes.admonition)):
            if CLASS in box["classes"]:
                box.parent.remove(box)


def setup(app):
    app.add_transform(Lab)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
