import { randomBytes } from 'node:crypto';
import { chooseOption } from '../answers.js';
import { cutText, MAX_QUESTIONS, QUESTION_BYTES, sizeOf } from '../limits.js';
import type { InteractionAnswer, InteractionOption, RuntimeEvent } from '../port.js';
import type { PermissionRequest } from './schemas.js';

type Outcome = { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };

interface Open {
  readonly options: readonly InteractionOption[];
  answer(outcome: Outcome): void;
}

/** The questions of an agent that nobody has answered yet. */
export class Permissions {
  readonly #open = new Map<string, Open>();
  #hasToldOfMore = false;

  constructor(private readonly tell: (event: RuntimeEvent, bytes?: number) => void) {}

  /**
   * What is too much to be shown is answered at once: nobody could decide it.
   *
   * @param withdrawn the agent does not want to know any more.
   */
  async ask({ toolCall, options }: PermissionRequest, withdrawn: AbortSignal): Promise<{ outcome: Outcome }> {
    const requestId = `acp-${randomBytes(8).toString('hex')}`;
    const choices = options.map(({ optionId, name, kind }) => ({ id: optionId, label: name ?? optionId, kind }));
    const question = {
      prompt: cutText(toolCall.title ?? toolCall.name ?? toolCall.toolCallId),
      options: choices,
      metadata: {
        source: 'acp',
        tool_call_id: toolCall.toolCallId,
        ...(toolCall.name === undefined ? {} : { tool_name: toolCall.name }),
        ...(toolCall.kind === undefined ? {} : { tool_kind: toolCall.kind }),
      },
    };
    const bytes = sizeOf(question);
    if (this.#open.size >= MAX_QUESTIONS || bytes > QUESTION_BYTES) {
      this.#tellOfMore();
      return { outcome: { outcome: 'cancelled' } };
    }
    const outcome = new Promise<Outcome>((answer) => this.#open.set(requestId, { options: choices, answer }));
    withdrawn.addEventListener('abort', () => this.#clear(requestId), { once: true });
    this.tell({ type: 'interaction', requestId, kind: 'approval', ...question }, bytes);
    return { outcome: await outcome };
  }

  /** Any answer to a question that offers nothing cancels it: the agent would wait for ever. */
  respond(requestId: string, { action }: InteractionAnswer): boolean {
    const open = this.#open.get(requestId);
    const chosen = open?.options.length === 0 ? 'cancelled' : chooseOption(open?.options ?? [], action);
    if (open === undefined || chosen === undefined) return false;
    this.#open.delete(requestId);
    const isOption = open.options.some(({ id }) => id === chosen);
    open.answer(isOption ? { outcome: 'selected', optionId: chosen } : { outcome: 'cancelled' });
    return true;
  }

  cancelAll(): void {
    for (const requestId of [...this.#open.keys()]) this.#clear(requestId);
  }

  #tellOfMore(): void {
    if (this.#hasToldOfMore) return;
    this.#hasToldOfMore = true;
    const text = `[questions are answered "cancelled" here: an agent may have ${MAX_QUESTIONS} open, each of ${QUESTION_BYTES / 1024} KiB at the most]`;
    this.tell({ type: 'entry', id: 'questions', kind: 'system', role: 'system', status: 'final', blocks: [{ type: 'text', text }] });
  }

  #clear(requestId: string): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    this.tell({ type: 'interaction_cleared', requestId });
    open.answer({ outcome: 'cancelled' });
  }
}
