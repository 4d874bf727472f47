import { runProcess } from '@opentill/runtime/run-process';
import { composeRates } from './compose.ts';

await runProcess('rates', composeRates, process.env);
