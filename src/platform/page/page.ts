import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../contract/problems.js';
import { acceptedEncoding, ENCODINGS } from '../http/encodings.js';
import { isTagNamed, weakened } from '../http/if-match.js';
import { pathOf } from '../http/request.js';
import { readPage, type PageFile } from './page-files.js';

/**
 * The operator's page at `/ui/`, outside the typed contract and without a key, as `/docs` is: what it shows it reads through the API.
 * Texts of agents are hostile, so nothing inline runs, nothing but our own files is loaded, and nothing turns text into HTML.
 */
const PREFIX = '/ui/';
const SHELL = 'index.html';
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // Its one use: the address of the shared worker.
  'trusted-types svc-worker',
].join('; ');
const OFF = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'usb',
];
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': [...OFF.map((feature) => `${feature}=()`), 'clipboard-write=(self)'].join(', '),
  vary: 'Origin, Accept-Encoding',
};

/** An extension of the HTTP application (`createHttpApp(…, { extend })`). The files are read once, when first asked for. */
export function servePage(app: NestFastifyApplication, read: typeof readPage = readPage): void {
  let files: ReadonlyMap<string, PageFile> | undefined;
  const adapter = app.getHttpAdapter();
  const answer = (request: FastifyRequest, reply: FastifyReply): void => {
    for (const [name, value] of Object.entries(HEADERS)) void reply.header(name, value);
    files ??= read();
    if (files === undefined) throw problem('not_found', 'the page is not built here: npm run build');
    const path = pathOf(request.url).slice(PREFIX.length);
    const asked = files.get(path);
    // Views are addresses of the page; a file that is not there is not one, or an old page would take the new one for its script. Names in
    // addresses of views have dots as well.
    if (asked === undefined && (path.startsWith('assets/') || /^[^/]*\.(js|css|svg|map)$/.test(path)))
      throw problem('not_found', 'no such file of the page');
    send(request, reply, asked ?? files.get(SHELL)!, path.startsWith('assets/'));
  };
  const lead = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => reply.redirect(PREFIX);
  // Who types the bare address is shown what there is.
  adapter.get('/', lead);
  adapter.get('/ui', lead);
  adapter.get(`${PREFIX}*`, answer);
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile, named: boolean): void {
  const encoding = acceptedEncoding(
    request.headers['accept-encoding'],
    ENCODINGS.filter((one) => file.encoded[one] !== undefined),
  );
  const etag = `"${file.etag}"`;
  void reply
    .header('cache-control', named ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('etag', encoding === undefined ? etag : weakened(etag));
  if (isTagNamed(request.headers['if-none-match'], etag)) return void reply.code(304).send();
  if (encoding !== undefined) void reply.header('content-encoding', encoding);
  void reply.type(file.type).send(encoding === undefined ? file.plain : file.encoded[encoding]);
}
