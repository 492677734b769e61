import {
  useContext,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type ButtonHTMLAttributes,
  type ReactNode,
  type SyntheticEvent,
} from 'react';
import { isForbidden, Refusal } from '../api/client.js';
import { useNow } from '../lib/clock.js';
import { blockKeys, Instead, shownKeys } from '../lib/keys.js';
import { serviceClock } from '../lib/service-clock.js';
import { ago } from '../lib/text.js';
import { untold } from '../lib/untold.js';
import { AsOf } from './as-of.js';
import { useWhyNot } from './why-not.js';

const LOOK = {
  plain: 'border-line bg-panel text-ink hover:bg-raised',
  primary: 'border-transparent bg-accent text-onaccent hover:opacity-90',
  bad: 'border-line bg-panel text-bad hover:bg-badtint',
  quiet: 'border-transparent text-muted hover:bg-raised hover:text-ink',
} as const;

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: keyof typeof LOOK;
  readonly hotkey?: string;
  /** Why it cannot be done: it stays visible, and says so. */
  readonly not?: string | undefined;
}

export function Button({ look = 'plain', hotkey, not, children, className = '', disabled, title, ...rest }: ButtonProps): ReactNode {
  const { off, words } = useWhyNot(not);
  return (
    <>
      <button
        type="button"
        {...rest}
        disabled={disabled === true && not === undefined}
        title={not === undefined ? title : undefined}
        {...off}
        className={`inline-flex min-h-8 max-w-full items-center justify-center gap-1.5 rounded-md border px-2.5 py-1 text-sm font-medium disabled:opacity-50 aria-disabled:opacity-50 pointer-coarse:min-h-11 ${LOOK[look]} ${className}`}
      >
        {children}
        {hotkey !== undefined && <Key keys={hotkey} />}
      </button>
      {words}
    </>
  );
}

export const Key = ({ keys }: { keys: string }): ReactNode => (
  <kbd aria-hidden="true" className="key hidden shrink-0 pointer-fine:inline-block">
    {shownKeys(keys)}
  </kbd>
);

interface ModalProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** It shows what is nowhere else: it is closed by what stands in it, and by nothing that is pressed beside it. */
  readonly kept?: boolean;
}

/** The browser's own dialog: focus, escape and the backdrop come with it. What was typed goes only when somebody means it. */
export function Modal({ title, onClose, children, wide = false, kept = false }: ModalProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  // A selection that is drawn out of the dialog ends on the backdrop and is no click on it; and no stray click takes away what was typed.
  const pressed = useRef(false);
  const typed = useRef(false);
  const [warned, warn] = useState(false);
  const instead = useContext(Instead);
  const id = useId();
  const ask = (event: SyntheticEvent): void => {
    if (!kept && (!typed.current || warned)) return;
    event.preventDefault();
    warn(!kept);
  };
  // Once it cannot be seen any more, keys and focus are where they were.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const unblock = blockKeys();
    dialog.current?.showModal();
    // A browser takes the first that can have the focus, which may be no place to type in, or at the end of much to read.
    const first = dialog.current?.querySelector<HTMLElement>('[data-first]');
    first?.focus({ preventScroll: true });
    if (first) dialog.current!.scrollTop = 0;
    return () => {
      unblock();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // A browser closes it all the same when somebody insists.
      onClose={() => (kept ? dialog.current?.showModal() : onClose())}
      onInput={({ target }) => {
        // What is looked for is typed again in a moment.
        typed.current ||= target instanceof Element && !target.matches('[role=combobox]');
        warn(false);
      }}
      onCancel={ask}
      // A browser does not let each of its own requests to close be refused.
      onKeyDown={(event) => event.key === 'Escape' && !event.nativeEvent.isComposing && ask(event)}
      onPointerDown={(event) => (pressed.current = event.target === dialog.current)}
      onClick={(event) => event.target === dialog.current && pressed.current && !typed.current && !kept && dialog.current.close()}
      // Also over what cannot be seen.
      className={`visible m-auto max-h-[92dvh] w-[calc(100%-1.5rem)] rounded-xl border border-line bg-panel p-0 text-ink shadow-xl ${wide ? 'max-w-2xl' : 'max-w-md'}`}
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 id={id} className="text-base font-semibold">
          {title}
        </h2>
        {instead}
        {children}
        {warned && (
          <p role="alert" className="text-sm text-warn">
            Escape once more discards what you have typed.
          </p>
        )}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  readonly onYes: () => void;
  readonly onClose: () => void;
}

/** For what cannot be undone: the button says what it does. */
export function Confirm({ title, children, action, onYes, onClose }: ConfirmProps): ReactNode {
  return (
    <Modal title={title} onClose={onClose}>
      <div className="words text-muted">{children}</div>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="bad"
          onClick={() => {
            onYes();
            onClose();
          }}
        >
          {action}
        </Button>
      </div>
    </Modal>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: (id: string) => ReactNode;
}

export function Field({ label, hint, children }: FieldProps): ReactNode {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children(id)}
      {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
    </div>
  );
}

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Of when it is what stands there all the same. */
  readonly asOf?: number | undefined;
}

/** What the service refuses: its words, and the number under which its log has it. */
export function Problem({ error, onRetry, asOf }: ProblemProps): ReactNode {
  if (error === undefined || error === null) return null;
  const { requestId, errors } = error instanceof Refusal ? error : { requestId: undefined, errors: [] };
  const said = error instanceof Error ? error.message : 'something is wrong';
  const more = untold(said, errors);
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-badtint px-3 py-2 text-sm text-bad"
    >
      <span className="words">
        {said}
        {more.length > 0 && `: ${more.map(({ location, message }) => `${location ?? ''} ${message ?? ''}`.trim()).join(', ')}`}
      </span>
      {requestId !== undefined && <code className="text-xs">{requestId}</code>}
      {asOf !== undefined && <AsOf at={asOf} />}
      {/* With the same key it would be refused again. */}
      {onRetry !== undefined && !isForbidden(error) && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-14 text-center">
      <p className="text-base font-semibold">{title}</p>
      {children !== undefined && <div className="flex flex-col items-center gap-3 text-muted">{children}</div>}
    </div>
  );
}

const TONES = { good: 'text-good', warn: 'text-warn', bad: 'text-bad', quiet: 'text-muted', accent: 'text-accent' } as const;
export type Tone = keyof typeof TONES;
const SHAPES: Readonly<Record<Tone, string>> = { good: '●', warn: '◆', bad: '▲', quiet: '○', accent: '◐' };

/**
 * A state is a word, a shape and a colour: each alone is enough.
 * @param long a sentence, which has more than one line where that is narrow.
 */
export const State = ({ tone, children, long = false }: { tone: Tone; children: ReactNode; long?: boolean }): ReactNode => (
  <span className={`inline-flex gap-1 text-sm ${long ? 'items-baseline' : 'items-center whitespace-nowrap'} ${TONES[tone]}`}>
    <span aria-hidden="true" className="text-[0.7em]">
      {SHAPES[tone]}
    </span>
    {children}
  </span>
);

export function Age({ at }: { at: string | undefined }): ReactNode {
  useNow();
  if (at === undefined || at === '') return null;
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return null;
  return (
    <time dateTime={at} title={time.toLocaleString()} className="whitespace-nowrap tabular-nums">
      {ago(serviceClock.now() - time.getTime())}
    </time>
  );
}
