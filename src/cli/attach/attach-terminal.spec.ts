import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { connect, patient } from '../api.js';
import type { Session } from '../sessions/view.js';
import type { Listener, Terminal } from '../terminal.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { frame, json, problem, stream, testServer, type Handler, type TestServer } from '../testing/server.js';
import { attachTerminal } from './attach-terminal.js';

let server: TestServer;
let io: FakeIo;
afterEach(() => {
  // What was given up is still tried.
  io.interrupt();
  return server.close();
});

const SESSION = '/v0/city/alpha/session/al-7';

class Typing implements Terminal {
  readonly columns = 80;
  readonly rows = 24;
  #to: Listener | undefined;

  listen(to: Listener): () => void {
    this.#to = to;
    return () => undefined;
  }

  /** Signs as they are; `^D` is Ctrl-D, a new line Enter. */
  type(text: string): void {
    for (const [sign] of text.matchAll(/\^[A-Z]|[^]/g)) {
      const ctrl = sign.length === 2;
      const name = ctrl ? sign[1]!.toLowerCase() : sign === '\n' ? 'return' : sign;
      this.#to!.key({ text: ctrl || sign === '\n' ? undefined : sign, name, ctrl, alt: false });
    }
  }
}

interface Attached {
  readonly keys: Typing;
  /** What it ends with: the error, or nothing. */
  readonly end: Promise<unknown>;
}

/** Attached to a session whose stream is open, and whose messages are answered so. */
async function attach(
  messages: Handler,
  opened: Handler = (_request, response) => stream(response),
  more: Readonly<Record<string, Handler>> = {},
): Promise<Attached> {
  const session = { id: 'al-7', alias: 'mayor', title: 'mayor', provider: 'loopback', running: true, state: 'active' } as Session;
  server = await testServer({
    [SESSION]: (_request, response) => json(response, session),
    [`${SESSION}/stream`]: opened,
    [`${SESSION}/messages`]: (request, response, nth) =>
      request.method === 'GET' ? json(response, { items: [] }) : messages(request, response, nth),
    ...more,
  });
  io = fakeIo();
  const keys = new Typing();
  const target = { url: server.url, key: undefined, source: 'for a test' };
  const api = patient(connect(target, io.signal));
  const attaching = { io, api, city: 'alpha', name: 'mayor', session, thinking: true, tail: 50, path: 'svc attach' };
  const end = attachTerminal(attaching, keys).catch((error: unknown) => error);
  return { keys, end };
}

const sent = (): unknown[] =>
  server.requests.filter(({ line }) => line.startsWith('POST')).map(({ body }) => (JSON.parse(body) as { message: string }).message);
const ACCEPTED = { request_id: 'r-1', event_cursor: '1', status: 'accepted' };
const later: Handler = (_request, response) => void sleep(100).then(() => json(response, ACCEPTED));

it('has sent what was typed before it leaves', async () => {
  const { keys, end } = await attach(later);
  keys.type('one\ntwo\n^D');
  expect(await end).toBeUndefined();
  expect(sent()).toEqual(['one', 'two']);
  expect(io.stdout).toContain('what was typed is still sent');
  expect(io.stdout).toMatch(/-- it goes on without you: svc attach al-7\n$/);
});

it('leaves at once where nothing is on its way', async () => {
  const { keys, end } = await attach(later);
  keys.type('^D');
  expect(await end).toBeUndefined();
  expect(io.stdout).not.toContain('still sent');
});

it.each(['^C', '^D'])('gives up with %s what is not sent yet, and says so', async (key) => {
  let come = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (come = resolve));
  const { keys, end } = await attach(() => come());
  keys.type('one\ntwo\n^D');
  await arrived;
  keys.type(key);
  expect(await end).toMatchObject({ message: 'not everything that was typed was sent' });
  expect(sent()).toEqual(['one']);
  expect(io.stdout).toContain('2 lines that were typed may not have been sent');
});

describe('whoever leaves', () => {
  const atWork: Handler = (_request, response) => stream(response, frame('1', 'activity', { activity: 'in-turn' }));

  it('does not wait for the end of the turn that he has asked for', async () => {
    let asked = 0;
    let answered = false;
    const stop: Handler = (_request, response) => {
      asked++;
      void sleep(5_000).then(() => {
        answered = true;
        problem(response, 503, 'unavailable: the turn has not ended');
      });
    };
    const { keys, end } = await attach(later, atWork, { [`${SESSION}/stop`]: stop });
    await io.untilOut('at work');
    keys.type('^C^D');
    expect(await end).toBeUndefined();
    expect([asked, answered]).toEqual([1, false]);
    expect(io.stdout).not.toContain('still sent');
    expect(io.stdout).toMatch(/-- it goes on without you: svc attach al-7\n$/);
  });

  it('is not told that something was lost where that end was refused', async () => {
    let asked = (): void => undefined;
    const begun = new Promise<void>((resolve) => (asked = resolve));
    const stop: Handler = (_request, response) => {
      asked();
      void sleep(100).then(() => problem(response, 409, 'conflict: no turn'));
    };
    const { keys, end } = await attach(later, atWork, { [`${SESSION}/stop`]: stop });
    keys.type('/stop\n');
    await begun;
    keys.type('^D');
    expect(await end).toBeUndefined();
    expect(io.stdout).toContain('conflict: no turn');
  });

  it('waits for nothing that he only looked at', async () => {
    let asked = (): void => undefined;
    const begun = new Promise<void>((resolve) => (asked = resolve));
    const queue: Handler = ({ url }, response) => (url!.includes('status=') ? asked() : json(response, { items: [] }));
    const { keys, end } = await attach(later, atWork, { [`${SESSION}/messages`]: queue });
    keys.type('/queue\n');
    await begun;
    keys.type('^D');
    expect(await end).toBeUndefined();
    expect(io.stdout).not.toContain('still sent');
  });
});

it('says what is refused after it was left', async () => {
  const { keys, end } = await attach((_request, response) => void sleep(100).then(() => problem(response, 409, 'conflict: it is full')));
  keys.type('one\n^D');
  expect(await end).toMatchObject({ message: 'not everything that was typed was sent' });
  expect(io.stdout).toContain('conflict: it is full');
});

it('says what is refused where the session was closed meanwhile', async () => {
  let close = (): void => undefined;
  const { keys, end } = await attach(
    (_request, response) => {
      close();
      void sleep(100).then(() => problem(response, 409, 'conflict: it is closed'));
    },
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'svc-session-state': 'closed' });
      response.flushHeaders();
      close = () => void response.end();
    },
  );
  keys.type('one\n');
  expect(await end).toMatchObject({ message: 'not everything that was typed was sent' });
  expect(io.stdout).toContain('conflict: it is closed');
});

it('waits for nothing once it is interrupted', async () => {
  const { keys, end } = await attach(() => undefined);
  keys.type('one\n^D');
  await io.untilOut('still sent');
  io.interrupt();
  expect(await end).toMatchObject({ exitCode: 130 });
});
