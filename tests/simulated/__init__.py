"""A simulator of LLM-serving incidents whose cause is known: none of it is used by the product.

`cases` draws a case by kind and seed, `fleet` runs it, `truth` labels it by what came of it, `recording`
writes it down as an on-call engineer would hand it over.
"""
