import { cut } from '../table.js';
import type { Message, Question, SessionFrame } from '../../client/turns.js';
import { harmlessLine } from '../harmless.js';
import { partOf, type Prose, type ToolCall } from './parts.js';

export interface ViewOptions {
  readonly colour: boolean;
  /** Columns of the terminal; undefined where nothing is cut and nothing drawn again. */
  readonly width: number | undefined;
  readonly thinking: boolean;
  /** Ends a question: what to do to answer it. Without a line break at its end the answer is typed behind it. */
  readonly hint: (question: Question) => string;
  /** Of what was said before only so many entries are shown. */
  readonly tail?: number | undefined;
  /** Whether it is told that a turn begins and ends; it is unless somebody else does. */
  readonly turns?: boolean;
}

const MARKS = { user: '> ', assistant: '', thought: '~ ', system: '-- ' } as const;
const STYLES = { user: '1', thought: '2', system: '2', running: '33', done: '32', ended: '2', failed: '31', question: '1;33' } as const;
type Structured = Extract<SessionFrame, { event: 'structured' }>;
type Style = keyof typeof STYLES;
/** An entry of the service ends here, and what an agent says goes on in the next one. */
const FULL_ENTRY = 16 * 1024 - 4;

/** How many messages of a frame are none of the last entries of what was said before; a reset may have some that are new. */
function before({ operation, structured_messages: all }: Structured['data'], tail: number | undefined): number {
  return operation !== 'snapshot' || tail === undefined ? 0 : Math.max(0, all.length - tail);
}

/** The frame with so many entries of what was said before. */
export function tailOf(frame: SessionFrame, tail: number | undefined): SessionFrame {
  if (frame.event !== 'structured') return frame;
  const structured_messages = frame.data.structured_messages.slice(before(frame.data, tail));
  return { ...frame, data: { ...frame.data, structured_messages } };
}

/**
 * A conversation as text, frame by frame. It only adds to what was written; the one thing that is drawn again, on a
 * terminal, is the line of a tool while it is the last one. Frames that come twice add nothing.
 */
export class ConversationView {
  /** What has been written of each entry, without colours. */
  readonly #written = new Map<string, string>();
  readonly #questions: Question[] = [];
  /** The entry at the very end. */
  #last: { readonly id: string; readonly full: boolean } | undefined;
  #inLine = false;
  #began = false;
  #activity: string | undefined;
  /** Something has come since it was idle. */
  #worked = false;

  constructor(private readonly options: ViewOptions) {}

  /** The question that is to be answered next. */
  get question(): Question | undefined {
    return this.#questions[0];
  }

  get activity(): string | undefined {
    return this.#activity;
  }

  frame(frame: SessionFrame): string {
    switch (frame.event) {
      case 'structured': {
        const { structured_messages: all } = frame.data;
        const skipped = before(frame.data, this.options.tail);
        for (const message of all.slice(0, skipped)) this.#skip(message);
        return all
          .slice(skipped)
          .map((message) => this.message(message))
          .join('');
      }
      case 'activity':
        return this.#active(frame.data.activity);
      case 'pending':
        return this.#asked(frame.data);
      case 'pending_cleared':
        return this.#cleared(frame.data.request_id);
      case 'heartbeat':
        return '';
    }
  }

  message(message: Message): string {
    const out = this.#entry(message);
    this.#worked ||= out !== '';
    return out;
  }

  #entry(message: Message): string {
    const { id, status } = message;
    if (status === 'superseded') return this.#withdrawn(id);
    const part = partOf(message, this.options.thinking);
    return part.kind === 'tool' ? this.#tool(id, part) : this.#prose(id, part, status !== 'partial');
  }

  /** A line of the service's own. */
  note(text: string): string {
    return `${this.fresh()}${this.#paint('system', `${MARKS.system}${harmlessLine(text)}`)}\n`;
  }

  /** Ends the current line when there is one. */
  fresh(): string {
    this.#last = undefined;
    const end = this.#inLine ? '\n' : '';
    this.#inLine = false;
    return end;
  }

  /** The person has ended the line. */
  typed(): void {
    this.#inLine = false;
    this.#last = undefined;
  }

  /** Where to answer, once more, while something is asked. */
  again(): string {
    const { question } = this;
    if (question === undefined) return '';
    const hint = this.options.hint(question);
    const out = this.fresh() + hint;
    this.#inLine = !hint.endsWith('\n');
    return out;
  }

  #skip(message: Message): void {
    const part = partOf(message, this.options.thinking);
    this.#written.set(message.id, part.kind === 'tool' ? this.#line(part) : marked(part));
  }

  #prose(id: string, part: Prose, final: boolean): string {
    const text = marked(part);
    const before = this.#written.get(id) ?? '';
    if (text === before) return final && this.#last?.id === id && !this.#last.full ? this.fresh() : '';
    this.#written.set(id, text);
    const grows = text.startsWith(before);
    const goesOn = (grows && this.#last?.id === id) || (before === '' && part.kind === 'assistant' && this.#last?.full === true);
    const more = grows ? text.slice(before.length) : newLines(text, before);
    if (more === '') return '';
    const gap = goesOn ? '' : this.fresh() + (part.kind === 'user' && this.#began ? '\n' : '');
    const out = gap + this.#paint(part.kind, goesOn ? more : more.replace(/^\n/, ''));
    this.#began = true;
    this.#inLine = true;
    this.#last = { id, full: part.kind === 'assistant' && Buffer.byteLength(text) >= FULL_ENTRY };
    return final && !this.#last.full ? out + this.fresh() : out;
  }

  #tool(id: string, call: ToolCall): string {
    const { width } = this.options;
    const line = this.#line(call);
    if (this.#written.get(id) === line) return '';
    this.#written.set(id, line);
    const start = this.#last?.id === id && this.#inLine ? '\r\u001b[K' : this.fresh();
    const out = start + this.#paint(call.state, width === undefined ? line : cut(line, Math.max(width - 1, 10)));
    this.#began = true;
    if (width !== undefined && call.state === 'running') {
      this.#inLine = true;
      this.#last = { id, full: false };
      return out;
    }
    this.#inLine = false;
    this.#last = undefined;
    return `${out}\n`;
  }

  #line({ about, state, result }: ToolCall): string {
    return `${about}: ${state}${result === '' ? '' : `, ${result}`}`;
  }

  #withdrawn(id: string): string {
    const before = this.#written.get(id) ?? '';
    this.#written.delete(id);
    return before === '' ? '' : this.note(`withdrawn: ${cut(before, 60)}`);
  }

  #active(activity: string): string {
    const before = this.#activity;
    this.#activity = activity;
    if (this.options.turns === false) return '';
    if (activity === 'in-turn') return before === undefined ? this.note('at work') : '';
    // A turn that was over when the stream looked has said something, and is told with its end alone.
    if (activity === before && !this.#worked) return '';
    this.#worked = false;
    return this.note(activity);
  }

  #asked(question: Question): string {
    if (this.#questions.some(({ request_id: id }) => id === question.request_id)) return '';
    return this.#questions.push(question) === 1 ? this.#ask(question) : '';
  }

  #cleared(requestId: string): string {
    const at = this.#questions.findIndex(({ request_id: id }) => id === requestId);
    if (at < 0) return '';
    this.#questions.splice(at, 1);
    const [next] = this.#questions;
    return this.note('the question is closed') + (at === 0 && next !== undefined ? this.#ask(next) : '');
  }

  #ask(question: Question): string {
    const { prompt, kind, choices } = question;
    const asked = harmlessLine(prompt ?? '') || harmlessLine(kind);
    const lines = (choices ?? []).map(({ label }, i) => `  ${i + 1}) ${harmlessLine(label)}\n`);
    const hint = this.options.hint(question);
    const out = `${this.fresh()}${this.#paint('question', `? ${asked}`)}\n${lines.join('')}${hint}`;
    this.#inLine = !hint.endsWith('\n');
    this.#began = true;
    return out;
  }

  #paint(style: Style | 'assistant', text: string): string {
    if (!this.options.colour || style === 'assistant' || text === '') return text;
    return `\u001b[${STYLES[style]}m${text}\u001b[0m`;
  }
}

function marked({ kind, text }: Prose): string {
  const mark = MARKS[kind];
  return text === '' ? '' : text.replaceAll(/^/gm, mark);
}

/** Where a text has become another one: its lines that were not there. */
function newLines(text: string, before: string): string {
  const old = new Set(before.split('\n'));
  return text
    .split('\n')
    .filter((line) => !old.has(line))
    .join('\n');
}
