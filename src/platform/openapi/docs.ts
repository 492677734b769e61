import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { DynamicModule, Type } from '@nestjs/common';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { canonicalJson } from './canonical.js';
import { buildDocument } from './document.js';

/**
 * `GET /openapi.json` and Swagger UI at `GET /docs`, outside the typed contract and without a key. The page sends
 * the anti-CSRF header with everything it tries out.
 */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Supervisor control plane</title>
    <link rel="stylesheet" href="./docs/swagger-ui.css" />
    <link rel="icon" type="image/png" href="./docs/favicon-32x32.png" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="./docs/swagger-ui-bundle.js"></script>
    <script src="./docs/start.js"></script>
  </body>
</html>
`;
const START = `window.ui = SwaggerUIBundle({
  url: './openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: true,
  tagsSorter: 'alpha',
  requestInterceptor: (request) => {
    request.headers['X-SVC-Request'] = 'docs';
    return request;
  },
});
`;

/** An extension of the HTTP application (`createHttpApp(…, { extend: serveDocs(root) })`). The document is built once, when first asked for. */
export function serveDocs(root: Type | DynamicModule): (instance: FastifyInstance) => void {
  return (instance) => {
    let document: string | undefined;
    instance.get('/openapi.json', (_request, reply) =>
      reply.header('content-type', 'application/json; charset=utf-8').send((document ??= canonicalJson(buildDocument(root)))),
    );
    instance.get('/docs', (_request, reply) => text(reply, 'text/html; charset=utf-8', PAGE));
    instance.get('/docs/start.js', (_request, reply) => text(reply, 'text/javascript; charset=utf-8', START));
    const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
    for (const [name, type] of Object.entries(ASSETS)) {
      instance.get(`/docs/${name}`, async (_request, reply) => {
        const bytes = await readFile(join(directory, name));
        return reply.header('content-type', type).header('cache-control', 'public, max-age=3600').send(bytes);
      });
    }
  };
}

function text(reply: FastifyReply, type: string, body: string): FastifyReply {
  return reply.header('content-type', type).header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff').send(body);
}
