import { Agent, createServer, request } from 'node:http';
import { pipeline } from 'node:stream';
import { serve } from '../lib/rpc.js';

/** What Node alone takes to put requests through to a socket: its own server and client, kept connections, and streams between them. */
function listen({ port, socket }: { port: number; socket: string }): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo' });
  const server = createServer((asked, answer) => {
    const { method, url, headers } = asked;
    const onward = request({ socketPath: socket, agent, method, path: url, headers: { ...headers, connection: 'keep-alive' } }, (heard) => {
      answer.writeHead(heard.statusCode!, heard.headers);
      pipeline(heard, answer, () => undefined);
    });
    onward.on('error', () => answer.destroy());
    if (method === 'GET' || method === 'HEAD') onward.end();
    else pipeline(asked, onward, () => undefined);
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
}

serve({ listen });
