import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemRenderer } from './problem.renderer.js';

/** Everything a handler throws ends here. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly renderer: ProblemRenderer) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.renderer.send(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}
