import type { Guard } from './guard.js';

const LIST = 'ui/src/live/list.spec.ts';
const SESSIONS = 'ui/src/live/session-events.spec.ts';
const STREAMS = 'ui/src/live/streams.spec.ts';
const TRANSCRIPT = 'ui/src/live/transcript.spec.ts';
const MARKDOWN = 'ui/src/markdown/read.spec.ts';

/** The operator's page. What only a browser shows has its tests in `test/e2e/ui-*`, over the page as it is built. */
export const PAGE: readonly Guard[] = [
  {
    guard: 'Of two states of one thing the page keeps the newer one.',
    file: 'ui/src/live/list.ts',
    find: 'if (before !== undefined && before.version >= version) {',
    replace: 'if (before !== undefined && before.version === version) {',
    test: LIST,
  },
  {
    guard: 'What was deleted does not come back with a page that was on its way.',
    file: 'ui/src/live/list.ts',
    find: 'if (this.#gone.has(id)) return;',
    replace: 'if (this.#gone.has(id) && round < 0) return;',
    test: LIST,
  },
  {
    guard: 'What no page of a new read has is gone.',
    file: 'ui/src/live/list.ts',
    find: 'if (row.round < round) this.#rows.delete(id);',
    replace: 'if (row.round < round - 1) this.#rows.delete(id);',
    test: LIST,
  },
  {
    guard: 'A read that fails takes nothing away.',
    file: 'ui/src/live/list.ts',
    find: '      this.#error = error;\n    }',
    replace: '      this.#error = error;\n      this.#rows.clear();\n    }',
    test: LIST,
  },
  {
    guard: 'Of two states of a session the one counts that the log has last.',
    file: 'ui/src/live/list.ts',
    find: 'this.source.version?.(item) ?? asOf(page.index) ?? stamp, round',
    replace: 'this.source.version?.(item) ?? stamp, round',
    test: SESSIONS,
  },
  {
    guard: 'A service that goes on from a backup is believed.',
    file: 'ui/src/live/list.ts',
    find: 'page.index < head) this.#forgetAll();',
    replace: 'page.index < -head) this.#forgetAll();',
    test: SESSIONS,
    name: 'goes on from a backup',
  },
  {
    guard: 'Which bead a session works on is said by the events of beads.',
    file: 'ui/src/live/session-events.ts',
    find: "session.active_bead) : known.active_bead) ?? '';",
    replace: "session.active_bead) : session.active_bead) ?? '';",
    test: SESSIONS,
  },
  {
    guard: 'What an event of a session does not tell is read.',
    file: 'ui/src/live/session-events.ts',
    find: 'this.want(subject);',
    replace: 'void this.want;',
    test: SESSIONS,
  },
  {
    guard: 'A stream that was lost goes on where it was.',
    file: 'ui/src/live/stream.ts',
    find: "...(this.#position === '' ? {} : { 'last-event-id': this.#position }),",
    replace: "...(this.#position === '' || !this.live ? {} : { 'last-event-id': this.#position }),",
    test: STREAMS,
  },
  {
    guard: 'A refused key is tried no more.',
    file: 'ui/src/live/stream.ts',
    find: 'if (status === 401 || status === 403) return',
    replace: 'if (status === 403) return',
    test: STREAMS,
  },
  {
    guard: 'A position that is gone is forgotten, and everything read again.',
    file: 'ui/src/live/stream.ts',
    find: "if ((status === 410 || status === 400) && this.#position !== '') {",
    replace: "if (status === 400 && this.#position !== '') {",
    test: STREAMS,
  },
  {
    guard: 'A browser has room for requests beside streams.',
    file: 'ui/src/live/streams.ts',
    find: 'if (this.open < MOST) return;',
    replace: 'if (this.open < MOST + 9) return;',
    test: STREAMS,
  },
  {
    guard: 'A page that joins a stream which others have is told to read.',
    file: 'ui/src/live/streams.ts',
    find: "if (held.stream.live) listener.tell({ t: 'live', url, gap: true });",
    replace: "if (held.stream.live) listener.tell({ t: 'live', url, gap: false });",
    test: STREAMS,
  },
  {
    guard: 'What an agent has superseded is shown no more.',
    file: 'ui/src/live/transcript.ts',
    find: "status !== 'superseded' && blocks.length > 0",
    replace: 'blocks.length > 0 && status !== undefined',
    test: TRANSCRIPT,
  },
  {
    guard: 'Nothing that turns text around is shown as it is.',
    file: 'ui/src/lib/text.ts',
    find: '  [0x2028, 0x202e],\n',
    replace: '',
    test: 'ui/src/lib/text.spec.ts',
  },
  {
    guard: 'A link of an agent leads to the web or to mail, and to nothing that runs.',
    file: 'ui/src/markdown/links.ts',
    find: '!SCHEMES.has(url.protocol)',
    replace: "url.protocol === 'file:'",
    test: MARKDOWN,
  },
  {
    guard: 'What stands before an `@` is no host.',
    file: 'ui/src/markdown/links.ts',
    find: " || url.username !== ''",
    replace: '',
    test: MARKDOWN,
  },
  {
    guard: 'A text that is nested beyond reason is not read as Markdown.',
    file: 'ui/src/markdown/read.ts',
    find: ' || NESTED.test(text)',
    replace: '',
    test: MARKDOWN,
  },
  {
    guard: 'A stream is not waited for longer than half of what it was away.',
    file: 'ui/src/live/stream.ts',
    find: ', Math.max(this.#retryMs, away / 2)',
    replace: ', Math.max(this.#retryMs, away * 9)',
    test: STREAMS,
  },
  {
    guard: 'A text of an address stays what was typed.',
    file: 'ui/src/lib/address.ts',
    find: 'Object.fromEntries(new URLSearchParams(text))',
    replace: "Object.fromEntries([...new URLSearchParams(text)].map(([name, value]) => [name, value === 'true' ? '1' : value]))",
    test: 'ui/src/lib/address.spec.ts',
  },
  {
    guard: 'A file of numbers holds nothing that a spreadsheet carries out.',
    file: 'ui/src/views/admin/units.ts',
    find: '/^[=+\\-@\\t\\r]/',
    replace: '/^[=]/',
    test: 'ui/src/views/admin/units.spec.ts',
  },
  {
    guard: 'An event that comes is shown when the service would have it in the list.',
    file: 'ui/src/views/events/filter.ts',
    find: 'Object.hasOwn(found, name)',
    replace: 'name in found',
    test: 'ui/src/views/events/filter.spec.ts',
  },
];
