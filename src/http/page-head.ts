/** What the heads of all our pages have in common. */

/** A post with two signs. */
export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' d='M7 0h2v2h5l2 2-2 2H9v1h4v4H9v5H7v-5H2L0 9l2-2h5V6H3V2h4z'/%3E%3C/svg%3E";

/** Content-Security-Policy: nothing from elsewhere, nothing in line, no frame around it; `img-src` is for the icon, which is in the page. */
export function pagePolicy({ forms }: { readonly forms: 'self' | 'none' }): string {
  return `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action '${forms}'; frame-ancestors 'none'`;
}
