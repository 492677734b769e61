import { useId, useRef, type DOMAttributes, type ReactNode } from 'react';
import { visible } from '../lib/text.js';

type Off = DOMAttributes<HTMLButtonElement> & { readonly 'aria-disabled'?: true; readonly 'aria-describedby'?: string };

/**
 * Why a button is off, for a pointer that rests on it, a key that comes to it, and a finger that presses it. It stays in the order of focus, and does
 * nothing: one that a browser disables says its reason to nobody but a mouse.
 */
export function useWhyNot(not: string | undefined): { readonly off: Off; readonly words: ReactNode } {
  const id = useId();
  const button = useRef<HTMLElement>(undefined);
  const words = useRef<HTMLSpanElement>(null);
  if (not === undefined) return { off: {}, words: null };
  const show = (source: HTMLElement): void => {
    button.current = source;
    words.current?.showPopover({ source });
  };
  const hide = (): void => words.current?.hidePopover();
  /** What a key has come to keeps its reason while a pointer passes, which may also go on to the words. */
  const leave = (to: EventTarget | null): void => {
    const stays = to instanceof Node && (words.current?.contains(to) === true || button.current?.contains(to) === true);
    if (!stays && button.current?.matches(':focus') !== true) hide();
  };
  const off: Off = {
    'aria-disabled': true,
    'aria-describedby': id,
    onPointerEnter: ({ currentTarget }) => show(currentTarget),
    onPointerLeave: ({ relatedTarget }) => leave(relatedTarget),
    onFocus: ({ currentTarget }) => show(currentTarget),
    onBlur: hide,
    onKeyDown: ({ key }) => key === 'Escape' && hide(),
    onClick: (event) => {
      // Nor does it send the form that it is of.
      event.preventDefault();
      event.stopPropagation();
      // Some browsers give no focus to what a finger presses, and without it nothing would take the words away.
      event.currentTarget.focus();
      show(event.currentTarget);
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
