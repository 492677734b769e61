import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { createLogger } from '../logging/logger.js';
import { openProducer } from './backend.js';
import { QueueTimings } from './timings.js';

const PASSWORD = 'what-nobody-is-to-read';

// Guard: the error of a command that Redis has refused holds the command, and that of a connection shows the password.
it('logs nothing of a command that Redis refuses but its name', async () => {
  const server = createServer((client) => client.on('data', () => client.write('-ERR max number of clients reached\r\n')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const lines: string[] = [];
  const log = createLogger('info', {}, { mixin: () => ({}), line: (line) => void lines.push(line) });
  const redisUrl = `redis://:${PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { redisUrl, databaseUrl: undefined, prefix: 'test' };
  const producer = openProducer(target, new QueueTimings(), (err) => log.warn({ err }, 'refused'));
  try {
    await eventually(() => lines.find((line) => line.includes('"name":"hello"')));
    expect(lines.join('')).not.toContain(PASSWORD);
  } finally {
    await producer.close();
    server.close();
  }
});
