/**
 * The line schema of `svc events`: what one line of its list, watch and follow modes is. It defines no shape of its
 * own; every line is a component of the OpenAPI document, which `openapi` names relative to where this document is.
 */
export function eventsLinesSchema(openapi: string): Record<string, unknown> {
  const component = (name: string): { $ref: string } => ({ $ref: `${openapi}#/components/schemas/${name}` });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Lines of svc events',
    description: 'One JSON object a line in the list, watch and follow modes. The output of --seq is plain text and not covered.',
    anyOf: Object.keys(LINES).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: Object.fromEntries(
      Object.entries(LINES).map(([name, line]) => [name, { description: line.about, ...component(line.component) }]),
    ),
    'x-svc-events': {
      sourceOfTruth: openapi,
      listMode: {
        framing: 'JSON Lines, oldest first, no outer array; nothing at all when no event matches',
        city: { line: '#/$defs/cityListLine', operation: 'GET /v0/city/{cityName}/events' },
        supervisor: { line: '#/$defs/supervisorListLine', operation: 'GET /v0/events' },
      },
      streamMode: {
        flags: ['--watch', '--follow'],
        framing: 'JSON Lines: the data of each matching frame; nothing at all when --watch runs out of time',
        city: { line: '#/$defs/cityStreamLine', frame: 'event', operation: 'GET /v0/city/{cityName}/events/stream' },
        supervisor: { line: '#/$defs/supervisorStreamLine', frame: 'tagged_event', operation: 'GET /v0/events/stream' },
      },
      cursorMode: {
        flags: ['--seq'],
        framing: 'one line of plain text, not JSON',
        city: 'the X-SVC-Index of the city event list, a value for --after',
        supervisor: 'the event_cursor of the supervisor event list, a value for --after-cursor',
      },
      heartbeatSuppression: 'heartbeat frames are consumed and never written',
    },
  };
}

const LINES = {
  cityListLine: { component: 'TypedEventStreamEnvelope', about: 'A line of the list of one city.' },
  supervisorListLine: { component: 'TypedTaggedEventStreamEnvelope', about: 'A line of the list of the supervisor.' },
  cityStreamLine: { component: 'EventStreamEnvelope', about: 'A line of --watch or --follow of one city.' },
  supervisorStreamLine: { component: 'TaggedEventStreamEnvelope', about: 'A line of --watch or --follow of the supervisor.' },
} as const;
