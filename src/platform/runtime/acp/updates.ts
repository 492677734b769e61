import type { z } from 'zod';
import { storableText } from '../../../contract/storable.js';
import { cutText, MAX_COMPACTIONS } from '../limits.js';
import type { Block, RuntimeEvent } from '../port.js';
import { blockOf, memberOf, textOf } from './content.js';
import { KnownTools } from './known-tools.js';
import type { LiveOptions } from './options.js';
import { Chunk, Compaction, ConfigOptions, Notice, Plan, ToolCall, UsageUpdate } from './schemas.js';
import { Tool } from './tools.js';

const MAX_SUB_ENTRY = 4096;
/** What shows that the agent is at work on a prompt; the rest it may say at any time. */
const OF_A_TURN = new Set(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan']);

/** Milliseconds. Some agents answer first and repeat then; one that has been quiet for so long has repeated all of it. */
const REPLAY_QUIET_MS = 1_000;

/** Makes events of `session/update`. Kinds that it does not know, and updates that it cannot read, are left out. */
export class Updates {
  #turn = 0;
  #entries = 0;
  readonly #tools = new KnownTools();
  readonly #compactions = new Map<string, string>();
  #sub: { readonly id: string; readonly parent: string; readonly kind: 'message' | 'thought'; text: string } | undefined;
  #costBefore: number | undefined;
  #cost: number | undefined;
  /** The agent has said in this turn what the conversation costs. */
  #isPriced = false;
  /** The agent repeats what was said before, or may still do so. */
  replaying = false;
  /** Since when nothing has been repeated, once the agent has answered that it has loaded. */
  #quietSince: number | undefined;

  constructor(
    private readonly options: LiveOptions,
    private readonly tell: (event: RuntimeEvent, bytes?: number) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The agent says that the conversation is loaded. */
  loaded(): void {
    this.#quietSince = this.now();
  }

  beginTurn(): void {
    this.#turn++;
    this.#tools.clear();
    this.#sub = undefined;
    this.#costBefore = this.#cost ?? this.#costBefore;
    this.#isPriced = false;
  }

  /** Tools of which nobody has said how they ended stay as they are: nothing more will come. */
  endTurn(): void {
    for (const tool of this.#tools.open()) this.tell(tool.entry('final'), tool.bytes);
  }

  /** A conversation that is new has cost nothing. Of an old one nobody knows what it had cost before its first figure, nor what the turn of that costs. */
  costsFromZero(): void {
    this.#costBefore = 0;
  }

  /** True when it belongs to a turn. */
  handle(update: Record<string, unknown>, bytes: number): boolean {
    const kind = update.sessionUpdate;
    if (typeof kind !== 'string') return false;
    const ofTurn = OF_A_TURN.has(kind);
    if (this.replaying && (ofTurn || kind === 'user_message_chunk' || kind.startsWith('compaction'))) {
      if (!this.#hasRepeatedAll()) return false;
      this.replaying = false;
    }
    const known = Object.hasOwn(this.#kinds, kind) ? this.#kinds[kind] : undefined;
    known?.(update, bytes);
    return ofTurn;
  }

  #hasRepeatedAll(): boolean {
    if (this.#quietSince === undefined) return false;
    const quiet = this.now() - this.#quietSince;
    this.#quietSince = this.now();
    return quiet >= REPLAY_QUIET_MS;
  }

  /** A tool call that a question is about: it may tell more than the updates before it. */
  tool(call: ToolCall, raw: unknown, bytes = 0): void {
    const make = (): Tool => new Tool(`tool:${this.#turn}:${call.toolCallId}`, call, memberOf(call._meta, 'parentToolUseId'));
    const tool = this.#tools.update(call, raw, bytes, make);
    this.#sub = undefined;
    // A small change is told with all that the tool holds.
    this.tell(tool.entry(), tool.bytes);
    for (const gone of this.#tools.forgotten(tool)) if (!gone.isOver) this.tell(gone.entry('final'), gone.bytes);
  }

  readonly #kinds: Readonly<Record<string, (update: Record<string, unknown>, bytes: number) => void>> = {
    agent_message_chunk: reads(Chunk, (chunk, bytes, raw) => this.#chunk('message', chunk, bytes, raw)),
    agent_thought_chunk: reads(Chunk, (chunk, bytes, raw) => this.#chunk('thought', chunk, bytes, raw)),
    tool_call: reads(ToolCall, (call, bytes, raw) => this.tool(call, raw, bytes)),
    tool_call_update: reads(ToolCall, (call, bytes, raw) => this.tool(call, raw, bytes)),
    plan: reads(Plan, ({ entries }, bytes, raw) => {
      const lines = entries.map(
        ({ content, status }) => `- [${status === 'completed' ? 'x' : status === 'in_progress' ? '~' : ' '}] ${content}`,
      );
      this.#entry(
        { id: `plan:${this.#turn}`, kind: 'plan', role: 'assistant', blocks: [{ type: 'text', text: lines.join('\n') }], raw },
        bytes,
      );
    }),
    usage_update: reads(UsageUpdate, ({ used, size, cost }) => {
      if (cost?.currency === 'USD') this.#cost = cost.amount;
      this.#isPriced ||= cost?.currency === 'USD';
      // What came late is the price of the turn before, and says nothing of this one.
      const [now, before] = [this.#isPriced ? this.#cost : undefined, this.#costBefore];
      const own = now === undefined || before === undefined ? {} : { costUsd: Math.max(0, now - before) };
      this.tell({ type: 'usage', usage: { model: this.options.current('model'), contextUsed: used, contextWindow: size, ...own } });
    }),
    session_info_update: ({ title }, bytes) => {
      if (typeof title === 'string' && title.trim() !== '') this.tell({ type: 'title', title: cutText(storableText(title.trim())) }, bytes);
    },
    current_mode_update: ({ currentModeId }, bytes) => {
      if (typeof currentModeId !== 'string') return;
      this.options.modeIs(storableText(currentModeId));
      this.tell({ type: 'options', options: this.options.list() }, bytes);
    },
    config_option_update: ({ configOptions }, bytes) => {
      const { data } = ConfigOptions.safeParse(configOptions);
      if (data === undefined) return;
      this.options.opened(data, undefined);
      this.tell({ type: 'options', options: this.options.list() }, bytes);
    },
    notice: reads(Notice, ({ title, description }, bytes, raw) => {
      const text = description === undefined ? title : `${title}\n${description}`;
      this.#entry({ id: `notice:${++this.#entries}`, kind: 'system', role: 'system', blocks: [{ type: 'text', text }], raw }, bytes);
    }),
    compaction_update: reads(Compaction, (compaction, bytes, raw) => this.#compaction(compaction, compaction.summary, bytes, raw)),
    compaction_summary_chunk: reads(Compaction, (compaction, bytes, raw) =>
      this.#compaction(compaction, compaction.content === undefined ? undefined : [compaction.content], bytes, raw, true),
    ),
  };

  #chunk(kind: 'message' | 'thought', { content, messageId, _meta }: Chunk, bytes: number, raw: unknown): void {
    const parent = memberOf(_meta, 'parentToolUseId');
    const model = this.options.current('model');
    if (content.type !== 'text') {
      this.#entry({ id: `block:${++this.#entries}`, kind, role: 'assistant', blocks: [blockOf(content)], raw, parent }, bytes);
    } else if (parent === undefined) {
      if (content.text !== undefined && content.text !== '') this.tell({ type: 'text', kind, text: content.text, model, messageId }, bytes);
    } else {
      // What is said inside of a tool call is no part of the conversation's own text.
      const going = this.#sub?.parent === parent && this.#sub.kind === kind && this.#sub.text.length < MAX_SUB_ENTRY;
      const sub = going ? this.#sub! : { id: `sub:${++this.#entries}`, parent, kind, text: '' };
      sub.text += content.text ?? '';
      this.#sub = sub;
      const block: Block = kind === 'message' ? { type: 'text', text: sub.text } : { type: 'thinking', thinking: sub.text };
      this.#entry({ id: sub.id, kind, role: 'assistant', blocks: [block], parent }, bytes);
    }
  }

  #compaction(
    { compactionId, status, error }: Compaction,
    summary: Chunk['content'][] | undefined,
    bytes: number,
    raw: unknown,
    more = false,
  ): void {
    const before = this.#compactions.get(compactionId) ?? '';
    const said = summary?.map(textOf).join('') ?? '';
    const text = cutText(more ? before + said : summary === undefined ? before : said);
    this.#compactions.delete(compactionId);
    this.#compactions.set(compactionId, text);
    if (this.#compactions.size > MAX_COMPACTIONS) this.#compactions.delete(this.#compactions.keys().next().value!);
    const blocks: Block[] = [{ type: 'text', text: text === '' ? (error ?? 'The conversation was compacted.') : text }];
    // Only what has happened cuts the conversation; an attempt is a notice.
    const kind = status === 'completed' ? 'compaction' : 'system';
    this.#entry({ id: `compaction:${compactionId}`, kind, role: 'system', blocks, raw }, bytes + text.length);
  }

  #entry(entry: Omit<Entry, 'type' | 'status' | 'raw'> & { raw?: unknown; parent?: string | undefined }, bytes: number): void {
    const { raw, parent, ...rest } = entry;
    this.tell(
      {
        type: 'entry',
        status: 'final',
        ...rest,
        ...(raw === undefined ? {} : { raw: [raw] }),
        ...(parent === undefined ? {} : { parentToolUseId: parent }),
      },
      bytes,
    );
  }
}

type Entry = Extract<RuntimeEvent, { type: 'entry' }>;
type Chunk = z.output<typeof Chunk>;
type Compaction = z.output<typeof Compaction>;

function reads<T extends z.ZodType>(schema: T, then: (read: z.output<T>, bytes: number, raw: unknown) => void) {
  return (update: Record<string, unknown>, bytes: number): void => {
    const { data, success } = schema.safeParse(update);
    if (success) then(data, bytes, update);
  };
}
