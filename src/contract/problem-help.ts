import type { ProblemName } from './problems.js';

/** What a problem means to whoever gets it, and what to do then. */
export interface ProblemHelp {
  readonly means: string;
  readonly then: string;
}

const gone = (what: string, list: string): ProblemHelp => ({
  means: `There is no such ${what}, or it is not for this key.`,
  then: `Look at \`${list}\`.`,
});

/** For the reference. The type has them complete. */
export const PROBLEM_HELP: Readonly<Record<ProblemName, ProblemHelp>> = {
  bad_request: { means: 'The request is no request of this API.', then: 'Read the detail; compare with `/openapi.json`.' },
  malformed_json: { means: 'The body is not JSON.', then: 'Send JSON with `Content-Type: application/json`.' },
  invalid_request: { means: 'A value of the request cannot be.', then: '`errors` names each place; change it and send again.' },
  sling_missing_bead: { means: 'What was to be slung is not there.', then: 'Look at `svc bead list`.' },
  sling_cross_rig: {
    means: 'The bead is of one rig and the target of another.',
    then: 'Name a target of the rig, or force it where the API says so.',
  },
  invalid_cursor: {
    means: 'The position, or the token of a page, is none of this deployment.',
    then: 'Begin again without it, or at the last position that you were given.',
  },
  unauthorized: {
    means: 'The request has no key, or one that does not count any more.',
    then: 'Send `Authorization: Bearer svc_…`; `svc doctor` says which key is used.',
  },
  csrf: { means: 'Something was to change, and the header `X-SVC-Request` is missing.', then: 'Send it with any value.' },
  read_only: {
    means: 'The server listens to the network and asks for no keys, so nobody may change anything.',
    then: 'Have it run with `SVC_AUTH=keys`.',
  },
  forbidden: {
    means: 'The key may not do this, or not with this city.',
    then: 'Where it names a right, use a key that has it: [What a key needs](rights.md); otherwise one for all cities, or for that city.',
  },
  origin_not_allowed: { means: 'A page of another site asks.', then: 'Name its origin in `SVC_ALLOWED_ORIGINS`.' },
  not_found: { means: 'There is nothing at this address.', then: 'Compare the path with `/openapi.json`.' },
  city_not_found: gone('city, or it does not run', 'svc city list'),
  bead_not_found: gone('bead', 'svc bead list'),
  rig_not_found: gone('rig', 'svc rig list'),
  convoy_not_found: gone('convoy', 'svc convoy list'),
  mail_not_found: gone('message', 'svc mail inbox'),
  wait_not_found: gone('wait', 'svc wait list'),
  agent_not_found: gone('agent', 'svc agent list'),
  provider_not_found: gone('provider', 'svc provider list'),
  patch_not_found: gone('patch', 'svc patch list'),
  pack_not_found: gone('import', 'svc pack list'),
  formula_not_found: gone('formula', 'svc formula list'),
  run_not_found: gone('run', 'svc run list'),
  sling_batch_not_found: gone('batch of slings, or it ended more than a week ago', 'svc events --type request.result.sling.batch'),
  workflow_not_found: gone('run', 'svc run list'),
  molecule_not_found: gone('molecule', 'svc run list'),
  order_not_found: gone('order', 'svc order list'),
  scope_not_found: gone('city or rig', 'svc rig list'),
  extmsg_group_not_found: gone('group', 'svc extmsg group list'),
  delivery_not_found: gone('delivery', 'svc extmsg deliveries'),
  service_not_found: gone('service', 'svc service list'),
  session_not_found: gone('session', 'svc session list'),
  message_not_found: {
    means: 'No such message waits for the session.',
    then: 'It was delivered, dropped or cancelled; the transcript says which.',
  },
  method_not_allowed: { means: 'This address does not know the method.', then: 'The header `Allow` has those that it knows.' },
  not_acceptable: {
    means: 'The answer comes in no type that the request takes.',
    then: 'Take `application/json`, or `text/event-stream` of a stream.',
  },
  request_timeout: { means: 'The request did not come to its end in time.', then: 'Send it again, and its body at once.' },
  conflict: { means: 'It cannot be done as things are.', then: 'Read the detail, look at the thing again, and decide anew.' },
  wrong_state: { means: 'The thing is in a state in which this cannot be done.', then: 'Look at it again; the detail names the state.' },
  owned_by_other: { means: 'Somebody else has it.', then: 'The detail names who; wait, or take it over where the API says so.' },
  dependency_cycle: { means: 'The dependencies would lead in a circle.', then: 'The detail has its path; leave one of them out.' },
  sling_refused: {
    means: 'The bead is closed, somebody has it, or it is routed elsewhere.',
    then: 'The detail says which; `force` overrides.',
  },
  sling_source_conflict: {
    means: 'The bead has a live run already.',
    then: 'Wait for it, cancel it, or launch with `force`, which ends it.',
  },
  pack_credential_required: {
    means: 'The repository of a pack asks who calls.',
    then: 'Give the host of the workers a credential for it.',
  },
  ambiguous_reference: { means: 'The name fits more than one thing.', then: 'Use one of the full names of the detail.' },
  order_running: {
    means: 'The order is being carried out.',
    then: 'Wait for the end of the firing (`svc order history`), or try again in a moment.',
  },
  operation_in_progress: {
    means: 'Something is being done with this that has to end first.',
    then: 'Wait for its terminal event, then try again.',
  },
  maintenance_in_progress: { means: 'A cycle of maintenance is on its way.', then: 'Wait for it: `svc maintenance status`.' },
  ambiguous: { means: 'The name fits more than one session.', then: 'Use the id of the session.' },
  pending_interaction: {
    means: 'The session waits for an answer first.',
    then: 'Answer it: `svc session pending`, `svc session respond`.',
  },
  no_pending: { means: 'The session asks nothing, or what it asked is answered.', then: 'Nothing has to be done.' },
  invalid_interaction: { means: 'The session asks something else by now.', then: 'Read what it asks and answer that.' },
  illegal_transition: {
    means: 'A session in this state cannot do that.',
    then: 'The detail names the state; `svc session show` says what it waits for.',
  },
  transcript_cursor_invalidated: {
    means: 'The transcript was begun anew since the position was handed out.',
    then: 'Read it from its beginning.',
  },
  idempotency_in_flight: { means: 'The first request with this key is not answered yet.', then: 'Send it again after `Retry-After`.' },
  cursor_expired: {
    means: 'Retention has dropped what comes after the position.',
    then: 'Begin at the oldest position that the detail names.',
  },
  cursor_ahead: {
    means: 'The position is of events that the log does not have: a backup was restored, or a standby took over that had not got them.',
    then: 'Forget what came after the position that the detail names, and go on from there. No number is ever given twice.',
  },
  revision_mismatch: {
    means: 'The thing has changed since it was read: `If-Match` does not fit.',
    then: 'Read it again, make the change anew, send it with the new `ETag`.',
  },
  payload_too_large: { means: 'The body is larger than the operation takes.', then: 'Send less; the detail has the limit.' },
  uri_too_long: { means: 'The address is longer than anything here, or its query has more parameters.', then: 'Send less in the query.' },
  unsupported_media_type: {
    means: 'The body is of a type that the operation does not take.',
    then: 'Send `Content-Type: application/json`.',
  },
  host_not_allowed: { means: 'The header `Host` names none of this server.', then: 'Name it in `SVC_ALLOWED_HOSTS`.' },
  validation_failed: {
    means: 'A value has not the form that the operation asks for.',
    then: '`errors` names each place; change it and send again.',
  },
  order_rejected: {
    means: 'The order cannot be fired as it is.',
    then: 'The detail says what is wrong with it; `svc order check` as well.',
  },
  webhook_rejected: {
    means: 'The delivery fits no order that can be fired.',
    then: 'The detail says why; look at the webhook with `svc order hooks`.',
  },
  idempotency_mismatch: { means: 'The key was used with another body.', then: 'Use a new key for a new request.' },
  rate_limited: { means: 'There were too many requests, streams or unread answers.', then: 'Send again after `Retry-After`.' },
  headers_too_large: { means: 'The headers are larger than anything here.', then: 'Send less of them.' },
  internal: { means: 'A fault of the server.', then: 'Tell the operator the value of `X-SVC-Request-Id`; the log has the rest.' },
  not_implemented: { means: 'The operation is known, and this service does not do it.', then: 'Read its description.' },
  unsupported: { means: 'The provider of the session cannot do that.', then: 'Use a session of a provider that can.' },
  bad_gateway: {
    means: 'Another server did not answer as it should.',
    then: 'Look whether its address, such as that of a pack, is right; where it is, send again after `Retry-After`.',
  },
  unavailable: {
    means: 'The server cannot do it just now: it starts, stops or is busy.',
    then: 'Send again after `Retry-After`; where it is not known whether it was done, with the same `Idempotency-Key`.',
  },
  maintenance_disabled: { means: 'The city has no maintenance.', then: 'Set `[maintenance.dolt] enabled = true`.' },
  no_providers: {
    means: 'No worker has said yet which providers it has.',
    then: 'Send again after `Retry-After`; see whether a worker runs.',
  },
  provider_not_ready: {
    means: 'No worker can use the provider: its program is missing, or nobody has signed in.',
    then: '`svc doctor` has the command that mends it.',
  },
  dependency_missing: {
    means: 'Something that the server needs is not there, such as a directory.',
    then: 'The detail names it; the operator has to mend it.',
  },
};
