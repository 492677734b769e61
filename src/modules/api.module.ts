import { Module } from '@nestjs/common';
import { OperationsModule } from '../platform/operations/operations.module.js';
import { BeadsModule } from './beads/beads.module.js';
import { DependenciesModule } from './dependencies/dependencies.module.js';
import { HooksModule } from './hooks/hooks.module.js';
import { ConvoysModule } from './convoys/convoys.module.js';
import { MailModule } from './mail/mail.module.js';
import { SlingModule } from './sling/sling.module.js';
import { WaitsModule } from './waits/waits.module.js';
import { CitiesModule } from './cities/cities.module.js';
import { EventsModule } from './events/events.module.js';
import { KeysModule } from './keys/keys.module.js';
import { ProvidersModule } from './providers/providers.module.js';
import { SchemasModule } from './system/schemas.module.js';
import { SystemModule } from './system/system.module.js';

/** What an api process serves. Composition only; everything these rooms share comes from the entry's root module. */
@Module({
  imports: [
    SystemModule,
    SchemasModule,
    KeysModule,
    ProvidersModule,
    CitiesModule,
    EventsModule,
    OperationsModule,
    BeadsModule,
    DependenciesModule,
    HooksModule,
    ConvoysModule,
    MailModule,
    SlingModule,
    WaitsModule,
  ],
})
export class ApiModule {}
