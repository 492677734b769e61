import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { AgentOutputController } from './agent-output.controller.js';
import { AgentOutput } from './agent-output.service.js';
import { AgentStreams } from './agent-streams.service.js';
import { LiveReads } from './live-reads.repository.js';
import { SessionHub } from './session-hub.js';
import { SessionStreams } from './session-streams.service.js';
import { TranscriptsController } from './transcripts.controller.js';
import { TranscriptsRepository } from './transcripts.repository.js';
import { TranscriptsService } from './transcripts.service.js';

/** What sessions and agents have said, over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, SessionsCoreModule],
  controllers: [TranscriptsController, AgentOutputController],
  providers: [AgentOutput, AgentStreams, LiveReads, SessionHub, SessionStreams, TranscriptsRepository, TranscriptsService],
})
export class TranscriptsModule {}
