import { useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Tells whether somebody is on the way to another view: what this one writes into its address late, as what was typed, would bring them back. */
export function useLeaving(): () => boolean {
  const router = useRouter();
  return useCallback(() => {
    const here = router.state.resolvedLocation ?? router.latestLocation;
    return router.latestLocation.pathname !== here.pathname;
  }, [router]);
}
