/**
 * Shell, inside of a wall: gives each variable that `$0` lists its name, with the value that waits under `SVC_OF_` and that name. The loop's own
 * begins as only those of the service do, so that it is none of them.
 */
export const GIVE_NAMES = `for SVC__N in $0; do eval "export $SVC__N=\\"\\$SVC_OF_$SVC__N\\""; unset "SVC_OF_$SVC__N"; done; unset SVC__N; `;
