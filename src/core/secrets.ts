/** Replaces passwords in URLs, Signpost's keys and secrets, and everything in PEM with `…`. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/-----BEGIN [^-]*-----[\s\S]*?(-----END [^-]*-----|$)/g, '…')
    .replace(/\/\/[^/\s]*@/g, '//…@')
    .replace(/\b(signpost_|whsec_)[\w+/=]+/g, '$1…');
}
