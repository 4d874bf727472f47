import type { Command } from 'commander';
import { ALL, CHAIN, needed, option, REASON, type AddCommand } from './add-command.ts';
import { addChainAdd } from './chain-commands.ts';
import {
  createOperator,
  listOperators,
  printAudit,
  recoverAdministrator,
  rotateOperator,
  setOperator,
} from './commands/ops/operators.ts';
import { acceptOrder, exportLedger, exportOrders, listOrders, refuseOrder } from './commands/ops/orders.ts';
import { approvePayout, decidePayout, listPayouts, showPayout, vetoPayout } from './commands/ops/payouts.ts';
import {
  closeIncident,
  listChains,
  listHalts,
  listHolds,
  listIncidents,
  pauseChain,
  releaseHalt,
  releaseHold,
  resumeChain,
  setHalt,
  setHold,
} from './commands/ops/stops.ts';
import { addSweeps } from './sweep-commands.ts';

const LIMIT = option('--limit <number>', 'maximum number of lines', '50');
const ON_CHAIN = needed('--chain <chain>');

export function addOps(program: Command, add: AddCommand): void {
  addOrders(program, add);
  addPayouts(program, add);
  addStops(program, add);
  addSweeps(program, add);
  addOperators(program, add);
}

function addOrders(program: Command, add: AddCommand): void {
  const orders = program.command('orders').description('orders of the shops');
  const which = [
    option('--merchant <id>'),
    option('--link <linkId>', 'orders of this payment link'),
    option('--status <status>'),
    option('--type <type>', 'collection or payout'),
    CHAIN,
    option('--symbol <symbol>', 'orders that accept this token; with --chain on this chain'),
    option('--address <address>', 'deposit address, or receiver'),
    option('--txid <txid>'),
    option('--since <time>', '2026-03-01T12:00:00Z, or 24h (ago)'),
    option('--until <time>'),
    LIMIT,
  ];
  add(orders, 'list', 'newest first', which, listOrders);
  const accept = 'credit a collection that expired late or underpaid, with the received amount';
  add(orders, 'accept <orderPk>', accept, [REASON], acceptOrder);
  add(orders, 'refuse <orderPk>', 'make a collection FAILED', [REASON], refuseOrder);

  const files = program.command('export').description('CSV files for the accountant');
  const time = [
    needed('--from <time>', 'start: 2026-03-01, 2026-03-01T12:00:00Z, or 30d (ago)'),
    needed('--until <time>', 'end (exclusive)'),
    needed('--out <file>', 'a file that does not exist yet'),
  ];
  add(files, 'orders', '', time, exportOrders);
  add(files, 'ledger', '', time, exportLedger);
}

function addPayouts(program: Command, add: AddCommand): void {
  const payout = program.command('payout').description('payouts: obstacles, approvals, vetoes');
  const which = [
    option('--waiting', 'only those that wait for approval'),
    option('--stuck', 'only those with an obstacle, or signed but not in a block'),
    option('--state <state>'),
    CHAIN,
    option('--merchant <id>'),
    LIMIT,
  ];
  add(payout, 'list', 'newest first', which, listPayouts);
  add(payout, 'show <orderPk>', '', [], showPayout);
  const key = [
    needed('--key-file <file>', 'the approver’s encrypted key'),
    option('--passphrase-file <file>', 'file with its passphrase (otherwise asked for)'),
    option('--yes', 'do not ask'),
  ];
  const approve = 'show a payout in plain words, ask, and sign it with an approver’s key';
  add(payout, 'approve <orderPk>', approve, key, approvePayout);
  add(payout, 'veto <orderPk>', 'refuse a payout that is not signed yet', [REASON], vetoPayout);
  const decide =
    'decide whether a payout in doubt was paid by a transaction that the gateway does not know (ADMIN)';
  const paid = [
    option('--pay-again', 'no transaction paid it: check the chain first'),
    option('--paid-by <txid>', 'this transaction paid it'),
    REASON,
  ];
  add(payout, 'decide <orderPk>', decide, paid, decidePayout);
}

function addStops(program: Command, add: AddCommand): void {
  const halt = program
    .command('halt')
    .description('kill switches: no new transaction is signed on a chain or from a wallet');
  const wallet = option('--wallet <address>', 'only this hot wallet');
  add(halt, 'set', '', [ON_CHAIN, wallet, REASON], setHalt);
  add(halt, 'release <haltId>', '', [REASON], releaseHalt);
  add(halt, 'list', '', [CHAIN, ALL], listHalts);

  const hold = program.command('hold').description('holds on the payouts of one asset');
  add(hold, 'set', '', [ON_CHAIN, needed('--symbol <symbol>'), REASON], setHold);
  add(hold, 'release <holdId>', '', [REASON], releaseHold);
  add(hold, 'list', '', [CHAIN, ALL], listHolds);

  const incident = program.command('incident').description('events that need an operator’s attention');
  add(incident, 'list', '', [CHAIN, ALL], listIncidents);
  add(incident, 'close <incidentId>', '', [REASON], closeIncident);

  const chain = program.command('chain').description('networks and their scanners');
  addChainAdd(chain, add);
  add(chain, 'list', 'how far each is read, and by which scanner', [], listChains);
  add(chain, 'pause <chain>', 'stop reading a chain', [REASON], pauseChain);
  add(chain, 'resume <chain>', '', [REASON], resumeChain);
}

function addOperators(program: Command, add: AddCommand): void {
  const operator = program.command('operator').description('users of the ops service');
  const tokenFile = option(
    '--token-file <file>',
    'write the token into a new file that only its owner can read, instead of showing it',
  );
  const created = [
    needed('--id <id>'),
    option('--name <name>'),
    needed('--role <role>', 'viewer, support, finance or admin'),
    tokenFile,
  ];
  const create = 'create an operator; the first one is written to the database and needs no OPS_TOKEN_FILE';
  add(operator, 'create', create, created, createOperator);
  const settings = [
    option('--name <name>'),
    option('--role <role>'),
    option('--enabled'),
    option('--disabled', 'the token is rejected at once'),
  ];
  add(operator, 'set <id>', '', settings, setOperator);
  add(
    operator,
    'rotate [id]',
    'create a new token, for you or another operator',
    [tokenFile],
    rotateOperator,
  );
  const recover =
    'make this operator an administrator if none has a token, through OPS_DATABASE_URL; audited';
  add(operator, 'recover <id>', recover, [tokenFile], recoverAdministrator);
  add(operator, 'list', '', [], listOperators);
  const which = [
    option('--operator <id>'),
    option('--action <operation>'),
    option('--subject <subject>'),
    option('--refused', 'only refused acts'),
    option('--since <time>'),
    LIMIT,
  ];
  add(program, 'audit', 'every act of every operator, newest first', which, printAudit);
}
