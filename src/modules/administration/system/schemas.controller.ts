import { Controller, Get, Header } from '@nestjs/common';
import { z } from 'zod';
import { eventsLinesSchema } from '../../../contract/events-lines.js';
import { Operation } from '../../../platform/http/operation.decorator.js';

const JSON_SCHEMA = 'application/schema+json';
/** Relative to its own address, so that it also holds behind a path prefix. */
const document = eventsLinesSchema('../openapi.json');

/** The machine-readable documents beside the OpenAPI document. */
@Controller('schemas')
export class SchemasController {
  @Operation({
    id: 'get-events-line-schema',
    summary: 'The line schema of svc events',
    description: 'JSON Schema 2020-12 of one line of the list, watch and follow modes. It refers to components of the OpenAPI document.',
    response: z.record(z.string(), z.unknown()),
    contentType: JSON_SCHEMA,
    public: true,
  })
  @Get('events.json')
  @Header('content-type', JSON_SCHEMA)
  events(): Record<string, unknown> {
    return document;
  }
}
