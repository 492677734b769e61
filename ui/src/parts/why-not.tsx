import { useId, useRef, type DOMAttributes, type ReactNode } from 'react';
import { visible } from '../lib/text.js';

type Off = DOMAttributes<HTMLButtonElement> & { readonly 'aria-disabled'?: true; readonly 'aria-describedby'?: string };

/** The words that can be seen: of one button at a time, whether it is pointed at or a key has come to it. */
let shown: HTMLElement | undefined;

function show(words: HTMLElement, source: HTMLElement): void {
  if (shown !== words) hide(shown);
  shown = words;
  words.showPopover({ source });
  document.addEventListener('keydown', onKey, true);
}

function hide(words: HTMLElement | undefined): void {
  if (words === undefined || words !== shown) return;
  shown = undefined;
  words.hidePopover();
  document.removeEventListener('keydown', onKey, true);
}

/** Wherever the focus is, Escape takes away the words and nothing else: not the dialog, or the pane, that the button is in. */
function onKey(event: KeyboardEvent): void {
  // A view that has gone has taken its words along.
  const open = shown?.matches(':popover-open') === true;
  if (open && (event.key !== 'Escape' || event.isComposing)) return;
  hide(shown);
  if (!open) return;
  event.preventDefault();
  event.stopPropagation();
}

/**
 * Why a button is off, for a pointer that rests on it, a key that comes to it, and a finger that presses it. It stays in the order of focus, and does
 * nothing: one that a browser disables says its reason to nobody but a mouse.
 */
export function useWhyNot(not: string | undefined): { readonly off: Off; readonly words: ReactNode } {
  const id = useId();
  const button = useRef<HTMLElement>(undefined);
  const words = useRef<HTMLSpanElement>(null);
  if (not === undefined) return { off: {}, words: null };
  const say = (source: HTMLElement): void => {
    button.current = source;
    if (words.current !== null) show(words.current, source);
  };
  const silence = (): void => hide(words.current ?? undefined);
  /** What a key has come to keeps its reason while a pointer passes, which may also go on to the words. */
  const leave = (to: EventTarget | null): void => {
    const stays = to instanceof Node && (words.current?.contains(to) === true || button.current?.contains(to) === true);
    if (!stays && button.current?.matches(':focus') !== true) silence();
  };
  const off: Off = {
    'aria-disabled': true,
    'aria-describedby': id,
    onPointerEnter: ({ currentTarget }) => say(currentTarget),
    onPointerLeave: ({ relatedTarget }) => leave(relatedTarget),
    onFocus: ({ currentTarget }) => say(currentTarget),
    onBlur: silence,
    onClick: (event) => {
      // Nor does it send the form that it is of.
      event.preventDefault();
      event.stopPropagation();
      const { activeElement: field } = document;
      // Enter in a field presses it too, and whoever writes there goes on with that.
      if (event.detail === 0 && field instanceof HTMLInputElement && field.form === event.currentTarget.form)
        field.addEventListener('blur', silence, { once: true });
      // Some browsers give no focus to what a finger presses, and without it nothing would take the words away.
      else event.currentTarget.focus();
      say(event.currentTarget);
    },
  };
  return {
    off,
    words: (
      <span
        ref={words}
        id={id}
        popover="manual"
        role="tooltip"
        className="why"
        onPointerLeave={({ relatedTarget }) => leave(relatedTarget)}
      >
        {visible(not)}
      </span>
    ),
  };
}
