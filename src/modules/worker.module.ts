import { Module } from '@nestjs/common';
import { OperationsWorkerModule } from '../platform/operations/operations.worker.module.js';
import { AuditWorkerModule } from './audit/audit.worker.module.js';
import { BringUpWorkerModule } from './bring-up/bring-up.worker.module.js';
import { CitiesWorkerModule } from './cities/cities.worker.module.js';
import { ConfigWorkerModule } from './config/config.worker.module.js';
import { EventsWorkerModule } from './events/events.worker.module.js';
import { ExtmsgWorkerModule } from './extmsg/extmsg.worker.module.js';
import { HooksWorkerModule } from './hooks/hooks.worker.module.js';
import { WaitsWorkerModule } from './waits/waits.worker.module.js';
import { MailWorkerModule } from './mail/mail.worker.module.js';
import { InteractionsCoreModule } from './interactions/interactions-core.module.js';
import { MessagesWorkerModule } from './messages/messages.worker.module.js';
import { ServicesWorkerModule } from './services/services.worker.module.js';
import { SessionsWorkerModule } from './sessions/sessions.worker.module.js';
import { OrdersWorkerModule } from './orders/orders.worker.module.js';
import { MaintenanceWorkerModule } from './maintenance/maintenance.worker.module.js';
import { ProvidersWorkerModule } from './providers/providers.worker.module.js';
import { PoolsWorkerModule } from './pools/pools.worker.module.js';
import { RigsWorkerModule } from './rigs/rigs.worker.module.js';
import { RunsWorkerModule } from './runs/runs.worker.module.js';
import { RunnersWorkerModule } from './runners/runners.worker.module.js';
import { SystemModule } from './system/system.module.js';

/** What a worker process does: handlers of operations, reconcile loops, sweepers. Composition only. */
@Module({
  imports: [
    SystemModule,
    OperationsWorkerModule,
    CitiesWorkerModule,
    BringUpWorkerModule,
    EventsWorkerModule,
    AuditWorkerModule,
    ProvidersWorkerModule,
    HooksWorkerModule,
    WaitsWorkerModule,
    MailWorkerModule,
    ConfigWorkerModule,
    RigsWorkerModule,
    RunsWorkerModule,
    RunnersWorkerModule,
    PoolsWorkerModule,
    OrdersWorkerModule,
    MaintenanceWorkerModule,
    ServicesWorkerModule,
    MessagesWorkerModule,
    ExtmsgWorkerModule,
    SessionsWorkerModule,
    InteractionsCoreModule,
  ],
})
export class WorkerModule {}
