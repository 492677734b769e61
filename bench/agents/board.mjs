/** A service of a city: answers a few bytes, and streams what is posted to it to everybody who listens. */
import { createServer } from 'node:http';
import process from 'node:process';

const listening = new Set();
const HELLO = JSON.stringify({ hello: 'world', from: 'a service of a city' });

const server = createServer((request, response) => {
  if (request.url === '/sse') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    listening.add(response);
    response.on('close', () => listening.delete(response));
    return;
  }
  if (request.url === '/pub') {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const event = `data: ${Buffer.concat(chunks).toString()}\n\n`;
      for (const one of listening) one.write(event);
      response.writeHead(204).end();
    });
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': HELLO.length }).end(HELLO);
});
server.keepAliveTimeout = 0;
server.listen(process.env.SVC_SERVICE_SOCKET);
process.on('SIGTERM', () => process.exit(0));
