import { isChain } from '@opentill/domain/chains';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { cliError, usage, type CliContext } from '../context.ts';
import { openOps } from '../ops-client.ts';

const ANSWER_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 200;

/** Adds missing transfers, changes no existing ones. @throws GatewayError NO_ANSWER_YET */
export async function rescan(
  context: CliContext,
  options: { readonly chain: string; readonly from: string; readonly to: string },
): Promise<void> {
  const { chain } = options;
  if (!isChain(chain)) throw usage(`${chain} is not a chain value.`);
  const from = height(options.from, '--from');
  const to = height(options.to, '--to');
  if (to < from) throw usage('--to is below --from.');
  const ops = await openOps(context);
  const { requestId } = await ops.call('requestRescan', { chain, fromHeight: from, toHeight: to });
  const deadline = context.clock.now().getTime() + ANSWER_TIMEOUT_MS;
  while (context.clock.now().getTime() < deadline) {
    const { doneAt, found } = await ops.call('getRescan', { requestId });
    if (doneAt !== null) {
      context.print(
        `Blocks ${from} to ${to} of ${chain} read again: ${found ?? 0} missing transfers were recorded.`,
      );
      return;
    }
    await abortableDelay(POLL_INTERVAL_MS);
  }
  throw cliError(
    'NO_ANSWER_YET',
    `Request ${requestId} waits: no scanner of ${chain} has answered yet. It stays queued.`,
    {
      retryable: true,
    },
  );
}

function height(text: string, option: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw usage(`${option} must be a block height.`);
  return value;
}
