import { runProcess } from '@opentill/runtime/run-process';
import { composeScanner } from './compose.ts';

await runProcess('scanner-tron', composeScanner, process.env);
