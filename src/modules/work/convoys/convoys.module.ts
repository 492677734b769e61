import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConvoyReadsService } from './convoy-reads.service.js';
import { ConvoysController } from './convoys.controller.js';
import { ConvoysCoreModule } from './convoys-core.module.js';

/** Convoys over HTTP. Needs the streams room beside it in the root. */
@Module({
  imports: [CitiesModule, ConvoysCoreModule],
  controllers: [ConvoysController],
  providers: [ConvoyReadsService],
  exports: [ConvoysCoreModule],
})
export class ConvoysModule {}
