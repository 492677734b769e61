import { describe, expect, it } from '@jest/globals';
import { answerOf, respondCommand } from './answers.js';
import { ConversationView, type ViewOptions } from './conversation-view.js';
import type { Message, Question, SessionFrame } from '../../client/turns.js';
import { harmless } from '../harmless.js';

type Status = Message['status'];
const entry = (id: string, role: string, blocks: object[], status: Status = 'final'): Message => ({ id, role, status, blocks }) as Message;
const text = (id: string, said: string, status: Status = 'final', role = 'assistant'): Message =>
  entry(id, role, [{ type: 'text', text: said }], status);
const user = (id: string, said: string): Message => text(id, said, 'final', 'user');
const upsert = (...structured_messages: Message[]): SessionFrame =>
  ({ event: 'structured', data: { operation: 'upsert', structured_messages } }) as unknown as SessionFrame;
const snapshot = (...structured_messages: Message[]): SessionFrame =>
  ({ event: 'structured', data: { operation: 'snapshot', structured_messages } }) as unknown as SessionFrame;
const reset = (...structured_messages: Message[]): SessionFrame =>
  ({ event: 'structured', data: { operation: 'reset', structured_messages } }) as unknown as SessionFrame;
const activity = (now: string): SessionFrame => ({ event: 'activity', data: { activity: now } });
const tool = (status: Status, content?: string, failed = false): Message =>
  entry(
    'tool',
    'tool',
    [
      { type: 'tool_use', id: 'c', name: 'execute', input: { kind: 'command', command: 'echo hello' } },
      ...(content === undefined ? [] : [{ type: 'tool_result', tool_call_id: 'c', content, is_error: failed }]),
    ],
    status,
  );
const question: Question = {
  request_id: 'r1',
  kind: 'approval',
  prompt: 'May I?',
  choices: [
    { id: 'allow', label: 'Allow' },
    { id: 'deny', label: 'Deny' },
  ],
};
const asked = (more: Partial<Question> = {}): SessionFrame => ({ event: 'pending', data: { ...question, ...more } });
const cleared = (request_id: string): SessionFrame => ({ event: 'pending_cleared', data: { request_id } });

function shown(frames: readonly SessionFrame[], options: Partial<ViewOptions> = {}): string {
  const view = new ConversationView({ colour: false, width: undefined, thinking: false, hint: () => 'hint\n', ...options });
  return frames.map((frame) => view.frame(frame)).join('') + view.fresh();
}

describe('a conversation as text', () => {
  it.each<[string, SessionFrame[], string, Partial<ViewOptions>?]>([
    ['a user speaks in marked lines', [upsert(user('u', 'one\ntwo'))], '> one\n> two\n'],
    [
      'an answer only grows',
      [upsert(text('a', '1 ', 'partial')), upsert(text('a', '1 2 ', 'partial')), upsert(text('a', '1 2 3'))],
      '1 2 3\n',
    ],
    ['what comes twice adds nothing', [upsert(text('a', 'hello')), upsert(text('a', 'hello')), snapshot(text('a', 'hello'))], 'hello\n'],
    ['turns are apart', [upsert(user('u', 'a'), text('a', 'b')), upsert(user('v', 'c'))], '> a\nb\n\n> c\n'],
    [
      'what has grown behind others goes on at the end',
      [upsert(text('a', 'one', 'partial')), upsert(text('b', 'two')), upsert(text('a', 'one\nmore'))],
      'one\ntwo\nmore\n',
    ],
    [
      'a plan is told by what has changed',
      [upsert(text('p', '- [~] Look\n- [ ] Act')), upsert(text('p', '- [x] Look\n- [ ] Act'))],
      '- [~] Look\n- [ ] Act\n- [x] Look\n',
    ],
    [
      'a part that is full goes on in the next',
      [upsert(text('a', 'x'.repeat(16_384))), upsert(text('b', 'yz'))],
      `${'x'.repeat(16_384)}yz\n`,
    ],
    ['thoughts are for who asks', [upsert(entry('t', 'assistant', [{ type: 'thinking', thinking: 'hm' }]))], ''],
    ['and are marked', [upsert(entry('t', 'assistant', [{ type: 'thinking', thinking: 'hm' }]))], '~ hm\n', { thinking: true }],
    ['the service speaks', [upsert(text('s', 'The process ended.', 'final', 'system'))], '-- The process ended.\n'],
    ['what is withdrawn is said so', [upsert(text('a', 'half')), upsert(text('a', 'half', 'superseded'))], 'half\n-- withdrawn: half\n'],
    ['what was never shown is not', [upsert(text('a', 'half', 'superseded'))], ''],
    [
      'only the last',
      [snapshot(user('u', 'old'), text('a', 'older'), user('v', 'new')), upsert(text('a', 'older'))],
      '> new\n',
      { tail: 1 },
    ],
    [
      'what a reset has that is new',
      [snapshot(user('u', 'old')), reset(user('u', 'old'), text('a', 'new'), user('v', 'newer'))],
      'new\n\n> newer\n',
      { tail: 0 },
    ],
    ['none of before', [snapshot(user('u', 'old')), upsert(text('a', 'new'))], 'new\n', { tail: 0 }],
    [
      'who joins hears what goes on',
      [activity('in-turn'), activity('idle'), activity('in-turn'), activity('idle')],
      '-- at work\n-- idle\n-- idle\n',
    ],
    [
      'the end of a turn also when its beginning was not seen',
      [activity('idle'), upsert(text('a', 'done', 'final')), activity('idle'), activity('idle')],
      '-- idle\ndone\n-- idle\n',
    ],
    ['it is idle on a line of its own', [upsert(text('a', 'half', 'partial')), activity('idle')], 'half\n-- idle\n'],
    [
      'a tool is a line a state',
      [upsert(tool('partial')), upsert(tool('partial', 'hel')), upsert(tool('final', 'hello\nworld'))],
      '[execute] echo hello: running\n[execute] echo hello: done, hello (+1 lines)\n',
    ],
    ['a tool that fails', [upsert(tool('final', 'no such file', true))], '[execute] echo hello: failed, no such file\n'],
    ['a tool of which nobody said how it ended', [upsert(tool('final'))], '[execute] echo hello: ended\n'],
    [
      'the last line of a terminal is drawn again',
      [upsert(tool('partial')), upsert(tool('final', 'hello'))],
      '[execute] echo hello: running\r\u001b[K[execute] echo hello: done, hello\n',
      { width: 80 },
    ],
    [
      'a line that is not the last is not',
      [upsert(tool('partial')), upsert(text('a', 'x')), upsert(tool('final', 'hello'))],
      '[execute] echo hello: running\nx\n[execute] echo hello: done, hello\n',
      { width: 80 },
    ],
    ['lines fit a terminal, by columns', [upsert(tool('final', '漢字漢字漢字'))], '[execute] echo hello: done, 漢字…\n', { width: 34 }],
    ['a question has numbers', [asked()], '? May I?\n  1) Allow\n  2) Deny\nhint\n'],
    [
      'and is asked once',
      [asked(), asked(), cleared('r1'), cleared('r1')],
      '? May I?\n  1) Allow\n  2) Deny\nhint\n-- the question is closed\n',
    ],
    [
      'the next one waits for its turn',
      [asked(), asked({ request_id: 'r2', prompt: 'And?', choices: [] }), cleared('r1')],
      '? May I?\n  1) Allow\n  2) Deny\nhint\n-- the question is closed\n? And?\nhint\n',
    ],
    ['colours, where they are wanted', [upsert(user('u', 'hi'), text('a', 'ho'))], '\u001b[1m> hi\u001b[0m\nho\n', { colour: true }],
    [
      'an agent cannot drive the terminal',
      [
        upsert(text('a', '\u001b[2J\u001b]0;x\u0007\u009b1m\u202e!', 'partial')),
        asked({ prompt: '\u001b[31mred\r\nline', choices: [] }),
        upsert(tool('final', '\u001b[H')),
      ],
      '␛[2J␛]0;x␇\ufffd1m!\n? ␛[31mred line\nhint\n[execute] echo hello: done, ␛[H\n',
    ],
    [
      'nor with a sequence in two parts',
      [upsert(text('a', '\u001b', 'partial')), upsert(text('a', '\u001b[2J\r', 'partial')), upsert(text('a', '\u001b[2J\r\nok'))],
      '␛[2J\nok\n',
    ],
  ])('%s', (_name, ...[frames, expected, options]) => {
    expect(shown(frames, options)).toBe(expected);
  });

  it('keeps a text that grows the beginning of what it grows to', () => {
    const whole = 'a\r\nb\rc\u001b[1m\u2028d\u0085\u200fe\t\u0000';
    for (let i = 0; i < whole.length; i++) expect(harmless(whole).startsWith(harmless(whole.slice(0, i)))).toBe(true);
  });
});

describe('an answer', () => {
  it.each([
    ['1', { action: 'allow', request_id: 'r1' }],
    [' 2 use the other file ', { action: 'deny', request_id: 'r1', text: 'use the other file' }],
    ['2) no', { action: 'deny', request_id: 'r1', text: 'no' }],
    ['3', { action: '3', request_id: 'r1' }],
    ['0', { action: '0', request_id: 'r1' }],
    ['approve', { action: 'approve', request_id: 'r1' }],
    ['', undefined],
  ])('typed as %j', (typed, body) => {
    expect(answerOf(question, typed)).toEqual(body);
  });

  it('is an id before it is a number', () => {
    expect(answerOf({ request_id: 'r', choices: [{ id: '2', label: 'Two' }] }, '2')).toEqual({ action: '2', request_id: 'r' });
  });

  it('is told as a command that cannot be more than that', () => {
    expect(respondCommand('al-7', question)).toBe('svc session respond al-7 allow|deny --request r1');
    const bad = { ...question, choices: [{ id: "x'; rm\n-rf", label: '' }] };
    expect(respondCommand('al-7', bad)).toBe("svc session respond al-7 'x'\\''; rm -rf' --request r1");
  });
});
