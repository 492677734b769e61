import { emitKeypressEvents } from 'node:readline';
import type { Readable } from 'node:stream';

/** A key that was pressed. */
export interface Key {
  /** What it writes; undefined for one that only does something. */
  readonly text: string | undefined;
  readonly name: string | undefined;
  readonly ctrl: boolean;
  readonly alt: boolean;
}

export interface Listener {
  key(key: Key): void;
  resized(): void;
  /** Nobody sits there any more. */
  gone(): void;
}

/** A terminal whose keys come one by one. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Hands out each key, which is not echoed, until what it returns is called. Ctrl-C is a key then. */
  listen(to: Listener): () => void;
}

/** Stdin of a terminal. */
export interface Keyboard extends Readable {
  setRawMode?(on: boolean): unknown;
}

/** Stdout of one. */
export interface Display {
  readonly columns?: number;
  readonly rows?: number;
  on?(event: 'resize', listener: () => void): unknown;
  off?(event: 'resize', listener: () => void): unknown;
}

interface Pressed {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
}

export function terminalOf(stdin: Keyboard, stdout: Display): Terminal {
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    listen(to) {
      const pressed = (text: string | undefined, { name, ctrl = false, meta = false }: Pressed): void =>
        to.key({ text, name, ctrl, alt: meta });
      const resized = (): void => to.resized();
      const gone = (): void => to.gone();
      stdin.setRawMode?.(true);
      emitKeypressEvents(stdin);
      stdin.on('keypress', pressed).on('end', gone).on('error', gone);
      stdout.on?.('resize', resized);
      stdin.resume();
      return () => {
        stdin.off('keypress', pressed).off('end', gone).off('error', gone);
        stdout.off?.('resize', resized);
        stdin.pause();
        stdin.setRawMode?.(false);
      };
    },
  };
}
