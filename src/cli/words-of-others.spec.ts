import { describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import { runCli } from './cli.js';
import { Progress } from './cities/progress.js';
import { oneLine } from './errors.js';
import { tellAnswer } from './sessions/answer.js';
import { partOf } from './sessions/parts.js';
import { block, plain } from './table.js';
import { fakeIo } from './testing/io.js';
import { json, testServer } from './testing/server.js';

const HOSTILE = 'b\u001b]52;c;cm0=\u0007a\u001b[2Ad';
const CITY = '/v0/city/alpha';
const receipt = (more: object) => ({
  DeliveryID: 'dlv-1',
  Receipt: { MessageID: HOSTILE, Error: HOSTILE, FailureKind: 'pending', ...more },
});
const SEND = ['extmsg', 'send', 'x', '--provider', 'chat', '--conversation-id', 'c', '--kind', 'room', '--session', 'm'];

// Also where it is no terminal yet: a file is shown on one later.
it.each([
  [['order', 'list'], '/orders', { orders: [], errors: [HOSTILE], total: 0 }],
  [['order', 'next', 'o'], '/order/o', { scoped_name: 'o', enabled: true, errors: [HOSTILE] }],
  [['service', 'open', 's'], '/service/s', { state: 'degraded', local_state: 'failed', reason: HOSTILE, mount_path: '/s' }],
  [SEND, '/extmsg/outbound', receipt({ Delivered: true })],
  [SEND, '/extmsg/outbound', receipt({ Delivered: false })],
  [SEND, '/extmsg/outbound', receipt({ Delivered: false, FailureKind: 'rejected' })],
])('%j says what others have written without what moves a terminal', async (args, path, answer) => {
  const server = await testServer({ [CITY + path]: (_request, response) => json(response, answer) });
  const io = fakeIo();
  await runCli([...args, '--city', 'alpha', '--api', server.url], io);
  await server.close();
  expect(io.stdout + io.stderr).toContain('bad');
  // oxlint-disable-next-line no-control-regex -- there shall be none
  expect(io.stdout + io.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

it('says so of what a proxy has answered while somebody waits', () => {
  const io = fakeIo();
  new Progress(io, 'creating alpha', false).note(`503 ${HOSTILE}`);
  expect(io.stderr).toBe('creating alpha\n503 bad\n');
});

describe('a megabyte of others that would take minutes to look at from each of its places', () => {
  const atOnce = (shown: () => unknown): void => void runInNewContext('shown()', { shown }, { timeout: 20_000 });
  const spaces = `a${' '.repeat(1_000_000)}b`;

  it('is an answer', () => {
    const io = fakeIo();
    atOnce(() => void tellAnswer(io, {}, { session_id: 's', message_id: 'm', answer: spaces }));
    expect(io.stdout === `${spaces}\n`).toBe(true);
  });

  it('is a part of a conversation', () => {
    const message = { id: 'm', role: 'assistant', status: 'final', blocks: [{ type: 'text', text: `\n${spaces} ` }] };
    const parts: ReturnType<typeof partOf>[] = [];
    atOnce(() => parts.push(partOf(message as Parameters<typeof partOf>[0], false)));
    expect(parts.map((part) => 'text' in part && part.text === spaces)).toEqual([true]);
  });

  it('is a text of several lines', () => {
    const shown: string[] = [];
    atOnce(() => shown.push(block(spaces), plain('\u001b]'.repeat(500_000)), plain('\u001b]0;a title\u0007b\u001b]2;another\u001b\\c')));
    expect(shown.slice(1)).toEqual(['', 'bc']);
    expect(shown[0]!.length).toBe(spaces.length + 3);
  });

  it('is what has gone wrong', () => {
    const shown: string[] = [];
    atOnce(() => shown.push(oneLine(`${spaces} \r\n\t c  d\n`)));
    expect(shown[0] === `${spaces} c  d`).toBe(true);
  });

  it('is a line of beginnings of commands around others', () => {
    const shown: string[] = [];
    atOnce(() => shown.push(plain('\u001b\u001b]]'.repeat(250_000))));
    expect(shown[0] === ']'.repeat(250_000)).toBe(true);
  });
});
