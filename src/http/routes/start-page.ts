/** The page at `/`: what runs here and what to try, until the dashboard takes its place. */
import { type Route, route } from '../route.ts';

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signpost</title>
<h1>Signpost is running</h1>
<p>The API is at <code>/v1</code>; every call needs <code>Authorization: Bearer &lt;key&gt;</code>.
The first key was printed when the service started. <a href="docs">Read about the API and try it</a>.</p>
<ul>
<li><code>GET /v1/pets</code>, <code>POST /v1/pets</code>: the store's animals</li>
<li><code>POST /v1/projects</code>, then <code>POST /v1/projects/{projectId}/deploys</code>: something to publish</li>
<li><code>POST /v1/projects/{projectId}/domains</code>: a domain that goes live by itself</li>
<li><code>GET /v1/projects/{projectId}/domains/{hostname}</code>: where it stands, what is wrong, what happens next</li>
</ul>
<p><code>npm run demo</code> plays it all in under a minute.</p>
</html>
`;

export function startPageRoutes(): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/',
      scope: null,
      operationId: 'getStartPage',
      tag: 'Service',
      summary: 'The start page',
      stability: 'experimental',
      success: {
        status: 200,
        description: 'What runs here and what to try',
        mediaType: 'text/html',
        example: '<!doctype html>…',
      },
      handle: async () => ({
        status: 200,
        text: page,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        },
      }),
    }),
  ];
}
