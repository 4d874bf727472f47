import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { findToken } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { formatAmount } from '@opentill/domain/money';
import { parseApprovalText, type ApprovedPayout } from '@opentill/wallet/policy/approval';
import { signApproval } from '@opentill/wallet/policy/approver-key';
import { canonicalContract } from '@opentill/wallet/policy/policy';
import { requiredVariable } from '../../config.ts';
import { usage, type CliContext } from '../../context.ts';
import type { Reason, Typed } from '../../add-command.ts';
import { callOps, openOps, printList } from '../../ops-client.ts';
import { tableLine } from '../../print-table.ts';
import { askPassphrase } from '../keys/ask-passphrase.ts';
import { parseChain, readLimit, parseEnum } from './read-options.ts';

type Payout = OpsAnswer<'getPayout'>;

const STATES = ['REQUESTED', 'AUTHORISED', 'SIGNED', 'REFUSED', 'EXPIRED'] as const;

export async function listPayouts(
  context: CliContext,
  options: Typed<'state' | 'chain' | 'merchant'> & { waiting?: boolean; stuck?: boolean; limit: string },
): Promise<void> {
  const filter = {
    waitingForApproval: options.waiting,
    stuck: options.stuck,
    state: parseEnum('--state', options.state, STATES),
    chain: parseChain(options.chain),
    merchantId: options.merchant,
  };
  await printList(context, 'listPayouts', filter, readLimit(options.limit), (p) => [
    p.orderPk,
    p.createdAt,
    p.chain,
    `${p.amount} ${p.symbol}`,
    p.receiver,
    p.merchantId,
    p.orderId,
    p.state,
    p.orderStatus,
    p.waitingForApproval ? `waits for approval (${p.approvals.length} received)` : p.obstacle,
  ]);
}

/** Omits its transactions, which `explain` shows. */
export async function showPayout(context: CliContext, orderPk: string): Promise<void> {
  const payout = await callOps(context, 'getPayout', { orderPk });
  for (const [name, value] of Object.entries(payout)) {
    const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
    context.print(tableLine([name, text]));
  }
}

export async function vetoPayout(context: CliContext, orderPk: string, { reason }: Reason): Promise<void> {
  const payout = await callOps(context, 'vetoPayout', { orderPk, reason });
  context.print(
    `Vetoed. The payout is ${payout.state} now; opentill payout show ${orderPk} shows whether the veto came first.`,
  );
}

/** A transaction that the gateway does not know paid it, or an UNPROVEN attempt did not. */
export async function decidePayout(
  context: CliContext,
  orderPk: string,
  { payAgain = false, paidBy, reason }: Reason & { readonly payAgain?: boolean; readonly paidBy?: string },
): Promise<void> {
  if (payAgain === (paidBy !== undefined)) throw usage('Give either --pay-again or --paid-by <txid>.');
  const what =
    paidBy === undefined
      ? ({ decision: 'PAY_AGAIN' } as const)
      : ({ decision: 'PAID_BY', txHash: paidBy } as const);
  await callOps(context, 'decidePayout', { orderPk, reason, ...what });
  context.print(
    `Decided; the signer checks it against the chain. opentill explain ${orderPk} shows the outcome.`,
  );
}

export interface ApproveOptions {
  readonly keyFile: string;
  readonly passphraseFile?: string;
  readonly yes?: boolean;
}

/**
 * The printed values are parsed from the signed text, and the amount uses the decimals of the approver's network file.
 * So a compromised ops service cannot show one payout and have another signed.
 */
export async function approvePayout(
  context: CliContext,
  orderPk: string,
  options: ApproveOptions,
): Promise<void> {
  const ops = await openOps(context);
  const { text } = await ops.call('getApprovalText', { orderPk });
  const payout = parseApprovalText(text);
  if (payout.orderPk !== orderPk)
    throw usage(`The ops service returned another payout to sign: ${payout.orderPk}. Nothing was signed.`);
  await printForApproval(context, payout);
  if (options.yes !== true) {
    const answer = await context.askSecret('Type yes to approve it (input is hidden)');
    if (answer.trim().toLowerCase() !== 'yes') throw usage('Not approved; nothing was signed.');
  }
  const passphrase = await askPassphrase(context, options.passphraseFile);
  const { approver, signature } = await signApproval(options.keyFile, passphrase, text, context.keystoreCost);
  const hex = Buffer.from(signature).toString('hex');
  const after = await ops.call('approvePayout', { orderPk, publicKey: approver, signature: hex });
  context.print(describeApproved(after));
}

async function printForApproval({ env, print }: CliContext, payout: ApprovedPayout): Promise<void> {
  const file = requiredVariable({ env }, 'NETWORKS_FILE');
  const network = (await readNetworkFile(file, env)).find(({ chain }) => chain === payout.chain);
  const token = network && findToken(network, payout.symbol);
  const isSame = token !== undefined && canonicalContract(payout.chain, token.contract) === payout.contract;
  if (network === undefined || !isSame) {
    throw usage(
      `${payout.symbol} with contract ${payout.contract ?? 'none'} on ${payout.chain} differs from ${file}. Nothing was signed.`,
    );
  }
  print(
    `Pay    ${formatAmount(payout.amountBaseUnits, token.decimals, token.displayDecimals)} ${token.symbol} on ${network.name} (${payout.chain})`,
  );
  print(`to     ${payout.receiver}`);
  print(`from   ${payout.wallet}`);
  print(`for    merchant ${payout.merchantId}, payout ${payout.orderPk}`);
  print(`token  ${payout.contract ?? 'the native coin'}`);
}

function describeApproved({ approvals, state, waitingForApproval }: Payout): string {
  const given = `${approvals.length} ${approvals.length === 1 ? 'approval' : 'approvals'} received`;
  return `Approved: ${given}; the payout is ${state}${waitingForApproval ? ', the signer checks it again now' : ''}.`;
}
