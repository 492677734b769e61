import type { Guard } from './guard.js';

const TRANSPORT = 'src/client/transport.spec.ts';
const EVENTS = 'src/client/events.spec.ts';

/** The library for programs, and what the command line does with it. */
export const CLIENT: readonly Guard[] = [
  {
    guard: 'A create carries a key, so that its second try makes nothing new.',
    file: 'src/client/client.ts',
    find: "headers.set('idempotency-key', newKey());",
    replace: 'void newKey();',
    test: TRANSPORT,
    name: 'under the same key',
  },
  {
    guard: 'What may have been carried out and has no key is not sent again.',
    file: 'src/client/transport.ts',
    find: '(sent && !repeatable) || ',
    replace: '',
    test: TRANSPORT,
    name: 'may have been carried out',
  },
  {
    guard: 'What a stream sends again is told once.',
    file: 'src/client/events.ts',
    find: 'if (seq <= (seen.get(stream) ?? 0)) continue;',
    replace: 'if (seq < 0) continue;',
    test: EVENTS,
    name: 'leave out what they have told',
  },
  {
    guard: 'A list that is watched takes nothing older than what it has.',
    file: 'src/cli/sessions/session-rows.ts',
    find: 'if (known !== undefined && known.at >= event.seq) return undefined;',
    replace: '',
    test: 'src/cli/sessions/session-rows.spec.ts',
  },
  {
    guard: 'A read that is on its way takes nothing back that an event has told.',
    file: 'src/cli/sessions/session-rows.ts',
    find: 'if (row.at <= at) this.#rows.delete(id);',
    replace: 'if (row.at >= 0) this.#rows.delete(id);',
    test: 'src/cli/sessions/session-rows.spec.ts',
  },
  {
    guard: 'A stream that begins now begins at one position, whichever connection is the first to say something.',
    file: 'src/client/events.ts',
    find: 'return this.options.after === undefined ? feed.head(signal) : String(this.options.after);',
    replace: 'return this.options.after === undefined ? undefined : String(this.options.after);',
    test: EVENTS,
    name: 'begin at one position',
  },
  {
    guard: "A context's city is not looked for at another service.",
    file: 'src/cli/scope.ts',
    find: 'const named = options.api === undefined && !io.env.SVC_API_URL ? contextInUse(io, options.context)?.city : undefined;',
    replace: 'const named = contextInUse(io, options.context)?.city;',
    test: 'src/cli/contexts/context.spec.ts',
  },
  {
    guard: 'A name that a shell would carry out is not offered to it.',
    file: 'src/cli/names.command.ts',
    find: 'SAFE.test(name)',
    replace: "(SAFE.test(name) || name !== '')",
    test: 'src/cli/names.spec.ts',
    name: 'carry them out',
  },
  {
    guard: 'Who watches a list goes on when the service is started anew.',
    file: 'src/cli/pauses.ts',
    find: 'if (io.signal.aborted || !passes(error)) throw error;',
    replace: 'if (io.signal.aborted || !passes(error) || pause > 0) throw error;',
    test: 'src/cli/listing.spec.ts',
  },
  {
    guard: 'A claim without work ends a script that waits for a bead.',
    file: 'src/cli/hooks/hook.command.ts',
    find: "if (data.action === 'drain') throw new CliError(",
    replace: "if (data.action === 'drain') return io.err(",
    test: 'test/e2e/cli-work.e2e-spec.ts',
  },
  {
    guard: 'What a program says to a session is a message, whatever it says: no command, and no answer to what is asked.',
    file: 'src/cli/attach/attach-lines.ts',
    find: 'io.typed === true ? ofPerson() : ofProgram()',
    replace: 'io.typed === true ? ofProgram() : ofPerson()',
    test: 'test/e2e/cli-sessions.e2e-spec.ts',
    name: 'lines of a program',
  },
  {
    guard: 'A client takes frames as long as the service makes them.',
    file: 'src/client/frames.ts',
    find: 'const MAX_FRAME = 8 * 1024 * 1024;',
    replace: 'const MAX_FRAME = 1024 * 1024;',
    test: 'src/client/events.spec.ts',
    name: 'may be as long',
  },
];
