// Serves the dashboard and the modules of the client, as any file server or bundler does. The service has to allow its address:
// SVC_ALLOWED_ORIGINS=http://127.0.0.1:8390
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

const at = (module) => new URL('.', import.meta.resolve(module));
const folders = {
  client: at('supervisor-control-plane/client'),
  'openapi-fetch': at('openapi-fetch'),
  'eventsource-parser': at('eventsource-parser'),
};

async function answer({ url }, response) {
  const [, folder, file] = /^\/([\w-]+)\/([\w.-]+\.m?js)$/.exec(url) ?? [];
  const module = folders[folder] && new URL(file, folders[folder]);
  const path = module ?? new URL('dashboard.html', import.meta.url);
  const body = await readFile(fileURLToPath(path)).catch(() => undefined);
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': module ? 'text/javascript' : 'text/html; charset=utf-8' });
  response.end(body);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(Number(process.env.PORT ?? 8390), process.env.HOST ?? '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
