/** What to give in the place of a name that is none; the service says of it only what is wrong. */
export const validHostname =
  'Give a public host name such as docs.example.com: letters, digits and hyphens, with dots between.';
