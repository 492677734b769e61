import type { Readable } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../contract/problems.js';
import { pathOf } from '../http/request.js';
import { canonicalJson } from './canonical.js';
import { buildDocument } from './document.js';
import { KeptAnswers } from './kept-answers.js';
import { outlineOf } from './outline.js';
import { pagePlugin } from './page-plugin.js';

/**
 * `GET /openapi.json` and Swagger UI at `GET /docs`, outside the typed contract and without a key. The page sends
 * the anti-CSRF header with everything it tries out.
 */
const PATH = 'docs';
const DOCUMENT = '/openapi.json';
/** What the page loads. The package that brings it has more files, which are nobody's business. */
const ASSETS: ReadonlySet<string> = new Set(['favicon-16x16.png', 'favicon-32x32.png', 'swagger-ui-bundle.js', 'swagger-ui.css']);
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/** Runs in the browser: it is handed over as source text and sees nothing of this file. */
function sendAntiCsrfHeader(request: { headers: Record<string, string> }): unknown {
  request.headers['X-SVC-Request'] = 'docs';
  return request;
}

/** An extension of the HTTP application (`createHttpApp(…, { extend: serveDocs })`). The document is built once, when first asked for. */
export function serveDocs(app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  const built = (): OpenAPIObject => (document ??= buildDocument(app));

  const kept = new KeptAnswers();
  const adapter = app.getHttpAdapter();
  const answered = new WeakSet<FastifyReply>();
  adapter.getInstance().addHook('onRoute', (route) => {
    if (route.url !== `/${PATH}` && !route.url.startsWith(`/${PATH}/`)) return;
    route.preHandler = async (request, reply) => {
      if (route.url === `/${PATH}/*`) onlyAssets(request);
      guardPage(reply);
      answered.add(reply);
      if (await kept.send(pathOf(request.url), request, reply)) return reply;
      answered.delete(reply);
      return undefined;
    };
    route.onSend = async (request, reply, payload) =>
      answered.has(reply) || request.method !== 'GET' || reply.statusCode !== 200
        ? payload
        : kept.keep(pathOf(request.url), payload as string | Buffer | Readable, request, reply);
  });
  // The page loads a second bundle for a bar that it does not show: it is as large as all else beside the first.
  adapter.get(`/${PATH}/swagger-ui-standalone-preset.js`, (_request: FastifyRequest, reply: FastifyReply) =>
    reply.type('application/javascript; charset=utf-8').send('globalThis.SwaggerUIStandalonePreset = [];\n'),
  );
  // The definition is not left to `raw`: that would write the document out again for every reader.
  adapter.get(DOCUMENT, async (request: FastifyRequest, reply: FastifyReply) => {
    if (await kept.send(DOCUMENT, request, reply)) return;
    void reply.type('application/json; charset=utf-8');
    await reply.send(await kept.keep(DOCUMENT, canonicalJson(built()), request, reply));
  });
  SwaggerModule.setup(PATH, app, () => outlineOf(built()), {
    raw: false,
    customSiteTitle: 'Supervisor control plane',
    swaggerOptions: {
      layout: 'BaseLayout',
      // All operations at once are more than the page keeps in its document: what is out of sight could not be found in it.
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      persistAuthorization: true,
      // What is found by a word, and what an address names: it is to be sent to somebody.
      filter: true,
      deepLinking: true,
      requestInterceptor: sendAntiCsrfHeader,
      plugins: [pagePlugin],
    },
  });
}

/** @throws ProblemError not_found */
function onlyAssets(request: FastifyRequest): void {
  const name = (request.params as { '*': string })['*'];
  if (!ASSETS.has(name)) throw problem('not_found', 'no such page');
}

function guardPage(reply: FastifyReply): void {
  void reply.header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff');
}
