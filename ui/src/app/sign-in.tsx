import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { ask } from '../api/info.js';
import { keyNow, useKey } from '../api/key.js';
import { strangeIn } from '../api/which-key.js';
import { blockKeys } from '../lib/keys.js';
import { Button, Field } from '../parts/basics.js';

export function SignIn({ why }: { why: string }): ReactNode {
  const [key, setKey] = useState('');
  const [remember, setRemember] = useState(false);
  const [strange, setStrange] = useState<string>();
  return (
    <div className="flex min-h-full items-center justify-center p-4">
      <form
        className="flex w-full max-w-sm flex-col gap-4 rounded-xl border border-line bg-panel p-6"
        onSubmit={(event) => {
          event.preventDefault();
          const found = strangeIn(key.trim());
          setStrange(found);
          if (found !== undefined) return;
          useKey(key.trim(), remember);
          void ask();
        }}
      >
        <h1 className="text-lg font-semibold">Sign in</h1>
        {(strange !== undefined || keyNow() !== null) && (
          <p role="alert" className="text-sm text-bad">
            {strange === undefined ? why : `This is no key: it has the character ${strange}. Copy the key alone, once more.`}
          </p>
        )}
        <Field label="API key" hint="Of the administrator it is in admin.key of the data directory. `svc ui` opens this page signed in.">
          {(id) => (
            <input
              id={id}
              type="password"
              autoComplete="off"
              required
              autoFocus
              value={key}
              onChange={(event) => setKey(event.target.value)}
              className="field"
            />
          )}
        </Field>
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
          Remember on this device
        </label>
        <Button type="submit" look="primary">
          Sign in
        </Button>
      </form>
    </div>
  );
}

/** Over all that is open: what was typed there is still there for who comes back with another key. */
export function SignInAgain({ why }: { why: string }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    const unblock = blockKeys();
    dialog.current?.showModal();
    return () => {
      unblock();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label="Sign in"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
      className="m-0 h-dvh max-h-none w-screen max-w-none bg-ground p-0 text-ink"
    >
      <SignIn why={why} />
    </dialog>
  );
}
