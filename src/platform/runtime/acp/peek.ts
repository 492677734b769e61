import type { RuntimeEvent } from '../port.js';

const LIMIT = 64 * 1024;

/** The last words of a conversation as a person would read them. */
export class Peek {
  #text = '';

  see(event: RuntimeEvent): void {
    if (event.type === 'text' && event.kind === 'message') this.#add(event.text);
    else if (event.type === 'entry' && event.kind === 'tool' && event.status === 'final') this.#line(`[${nameOf(event)}]`);
    else if (event.type === 'interaction') this.#line(`? ${event.prompt}`);
  }

  asked(text: string): void {
    this.#line(`> ${text}`);
  }

  lines(count: number): string {
    return this.#text.trimEnd().split('\n').slice(-count).join('\n');
  }

  #line(text: string): void {
    this.#add(`${this.#text === '' || this.#text.endsWith('\n') ? '' : '\n'}${text}\n`);
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length > 2 * LIMIT) this.#text = this.#text.slice(-LIMIT);
  }
}

function nameOf({ blocks }: Extract<RuntimeEvent, { type: 'entry' }>): string {
  const name = blocks.find(({ type }) => type === 'tool_use')?.name;
  return typeof name === 'string' ? name : 'tool';
}
