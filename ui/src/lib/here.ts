import { useRouter } from '@tanstack/react-router';
import { useCallback, useEffect, useRef } from 'react';
import { isStillThere } from './still-there.js';

/** Called where something is asked for that takes a while. What it gives tells whether whoever has asked may be taken to what has come of it. */
export function useHere(): () => () => boolean {
  const router = useRouter();
  const shown = useRef(false);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  return useCallback(() => {
    const asked = router.latestLocation.href;
    return () =>
      isStillThere(asked, {
        address: router.latestLocation.href,
        shown: shown.current,
        writing: document.querySelector('dialog[open]') !== null,
      });
  }, [router]);
}
