import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { canonicalJson } from './canonical.js';
import { buildDocument } from './document.js';

/**
 * `GET /openapi.json` and Swagger UI at `GET /docs`, outside the typed contract and without a key. The page sends
 * the anti-CSRF header with everything it tries out.
 */
const PATH = 'docs';
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/** Runs in the browser: it is handed over as source text and sees nothing of this file. */
function sendAntiCsrfHeader(request: { headers: Record<string, string> }): unknown {
  request.headers['X-SVC-Request'] = 'docs';
  return request;
}

/** An extension of the HTTP application (`createHttpApp(…, { extend: serveDocs })`). The document is built once, when first asked for. */
export function serveDocs(app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  let text: string | undefined;
  const built = (): OpenAPIObject => (document ??= buildDocument(app));

  const adapter = app.getHttpAdapter();
  adapter.getInstance().addHook('onRoute', (route) => {
    if (route.url === `/${PATH}` || route.url.startsWith(`/${PATH}/`)) route.onSend = guardPage;
  });
  // The definition is not left to `raw`: that would write the document out again for every reader.
  adapter.get('/openapi.json', (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send((text ??= canonicalJson(built()))),
  );
  SwaggerModule.setup(PATH, app, built, {
    raw: false,
    customSiteTitle: 'Supervisor control plane',
    swaggerOptions: {
      layout: 'BaseLayout',
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      persistAuthorization: true,
      tagsSorter: 'alpha',
      requestInterceptor: sendAntiCsrfHeader,
    },
  });
}

function guardPage(_request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void): void {
  void reply.header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff');
  done();
}
