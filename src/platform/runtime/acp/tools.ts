import { cutTexts, ENTRY_BYTES, MAX_RAW_FRAMES, sizeOf } from '../limits.js';
import type { Block, EntryStatus, RuntimeEvent } from '../port.js';
import { memberOf, textOf } from './content.js';
import type { ToolCall } from './schemas.js';

interface Frame {
  readonly frame: unknown;
  /** About how much memory it holds. */
  readonly bytes: number;
  /** What is stored of it: less, where it has many members. Measured once that counts. */
  size?: number;
}

/** One tool call as it is so far: a call, and updates that replace what they name. */
export class Tool {
  #call: ToolCall;
  /** At the most; measured when it is too much. */
  #callBytes = 0;
  /** Undefined once there is more of it than is stored with an entry. */
  #raw: Frame[] | undefined = [];

  constructor(
    private readonly id: string,
    call: ToolCall,
    private readonly parent: string | undefined,
  ) {
    this.#call = call;
  }

  /** @param bytes about how much memory the change holds. */
  update(change: ToolCall, raw: unknown, bytes: number): void {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined && value !== null));
    this.#call = { ...this.#call, ...(given as ToolCall) };
    this.#callBytes += bytes;
    if (this.#callBytes > ENTRY_BYTES) this.#cut();
    this.#keep(raw, bytes);
  }

  /** About how much memory it holds. */
  get bytes(): number {
    return this.#callBytes + this.#rawBytes;
  }

  get #rawBytes(): number {
    return this.#raw?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
  }

  #keep(frame: unknown, bytes: number): void {
    if (this.#raw === undefined) return;
    // A tool that tells its progress for hours keeps its first frames and the last one.
    if (this.#raw.length >= MAX_RAW_FRAMES) this.#raw.pop();
    this.#raw.push({ frame, bytes });
    if (this.#rawBytes > ENTRY_BYTES && this.#raw.reduce((sum, kept) => sum + (kept.size ??= sizeOf(kept.frame)), 0) > ENTRY_BYTES)
      this.#raw = undefined;
  }

  /** Of a call that is too large, what would be stored of it stays. */
  #cut(): void {
    const whole = sizeOf(this.#call);
    if (whole > ENTRY_BYTES) this.#call = cutTexts(this.#call) as ToolCall;
    this.#callBytes = whole > ENTRY_BYTES ? sizeOf(this.#call) : whole;
    if (this.#callBytes <= ENTRY_BYTES) return;
    const { toolCallId, title, kind, status } = this.#call;
    const text = `[a tool call of ${whole} bytes was left out]`;
    this.#call = { toolCallId, title, name: this.#name, kind, status, content: [{ type: 'content', content: { type: 'text', text } }] };
    this.#callBytes = sizeOf(this.#call);
  }

  get #name(): string {
    const { name, _meta, kind, title, toolCallId } = this.#call;
    return name ?? memberOf(_meta, 'toolName') ?? kind ?? title ?? toolCallId;
  }

  get isOver(): boolean {
    return this.#call.status === 'completed' || this.#call.status === 'failed';
  }

  /** @param status what it is when the agent has not said that it is over. */
  entry(status: EntryStatus = 'partial'): RuntimeEvent {
    return {
      type: 'entry',
      id: this.id,
      kind: 'tool',
      role: 'tool',
      status: this.isOver ? 'final' : status,
      blocks: [this.#use(), ...this.#result()],
      ...(this.#raw === undefined ? {} : { raw: this.#raw.map(({ frame }) => frame) }),
      ...(this.parent === undefined ? {} : { parentToolUseId: this.parent }),
    };
  }

  #use(): Block {
    const { toolCallId, locations } = this.#call;
    const path = locations?.[0]?.path;
    const input = inputOf(this.#call);
    return {
      type: 'tool_use',
      id: toolCallId,
      name: this.#name,
      ...(path === undefined ? {} : { file_path: path }),
      ...(input === undefined ? {} : { input }),
    };
  }

  #result(): Block[] {
    const { toolCallId, content = [], rawOutput, status } = this.#call;
    if (!this.isOver && content.length === 0) return [];
    const diff = content.find(({ type }) => type === 'diff');
    // A result has room for one change. The others are told as text: who allows a call allows all of them.
    const said = content.flatMap((part) => {
      if (part.type === 'diff' && part !== diff) return [written({ path: part.path, oldText: part.oldText, newText: part.newText })];
      return part.content === undefined ? [] : [textOf(part.content)];
    });
    const isTold = rawOutput === undefined || rawOutput === null || content.some((part) => part.content !== undefined);
    const text = (isTold ? said : [...said, written(rawOutput)]).join('\n');
    const edit = {
      kind: 'edit',
      ...(diff?.path === undefined ? {} : { file_path: diff.path }),
      ...(diff?.oldText === undefined ? {} : { old_string: diff.oldText }),
    };
    return [
      {
        type: 'tool_result',
        tool_call_id: toolCallId,
        name: this.#name,
        content: text,
        is_error: status === 'failed',
        ...(diff?.path === undefined ? {} : { file_path: diff.path }),
        structured: diff === undefined ? { kind: 'text', text } : { ...edit, new_string: diff.newText ?? '' },
      },
    ];
  }
}

function inputOf({ title, kind, rawInput }: ToolCall): Record<string, unknown> | undefined {
  if (typeof rawInput === 'string') return { kind: 'text', text: rawInput };
  if (typeof rawInput !== 'object' || rawInput === null)
    return kind === 'execute' && title !== undefined ? { kind: 'command', command: title } : undefined;
  const members = Object.entries(rawInput).map(([name, value]) => ({ name, value: written(value) }));
  const command = (rawInput as { command?: unknown }).command;
  if (typeof command === 'string' || Array.isArray(command)) {
    const line = typeof command === 'string' ? command : command.map(written).join(' ');
    return { kind: 'command', command: line, arguments: members.filter(({ name }) => name !== 'command') };
  }
  return { kind: 'arguments', arguments: members };
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
