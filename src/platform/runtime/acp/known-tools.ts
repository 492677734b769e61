import { MAX_TOOLS, TOOLS_BYTES } from '../limits.js';
import type { ToolCall } from './schemas.js';
import type { Tool } from './tools.js';

/** The tool calls of a turn of which more may be told. How many there are is bounded, and how much memory they take together. */
export class KnownTools {
  readonly #tools = new Map<string, Tool>();
  #bytes = 0;

  clear(): void {
    this.#tools.clear();
    this.#bytes = 0;
  }

  /** Those of which nobody has said how they ended. */
  open(): Tool[] {
    return [...this.#tools.values()].filter((tool) => !tool.isOver);
  }

  update(call: ToolCall, raw: unknown, bytes: number, make: () => Tool): Tool {
    const tool = this.#tools.get(call.toolCallId) ?? make();
    this.#tools.set(call.toolCallId, tool);
    this.#bytes -= tool.bytes;
    tool.update(call, raw, bytes);
    this.#bytes += tool.bytes;
    return tool;
  }

  /** Those for which there is no place any more: the oldest that are over, then the oldest; never `last`. */
  forgotten(last: Tool): Tool[] {
    const gone: Tool[] = [];
    while (this.#tools.size > 1 && (this.#tools.size > MAX_TOOLS || this.#bytes > TOOLS_BYTES)) {
      const others = [...this.#tools].filter(([, tool]) => tool !== last);
      const [key, tool] = others.find(([, { isOver }]) => isOver) ?? others[0]!;
      this.#tools.delete(key);
      this.#bytes -= tool.bytes;
      gone.push(tool);
    }
    return gone;
  }
}
