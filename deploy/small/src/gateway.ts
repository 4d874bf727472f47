import { runProcess } from '@opentill/runtime/run-process';
import { composeGateway } from './compose-gateway.ts';

await runProcess('gateway', composeGateway, process.env);
