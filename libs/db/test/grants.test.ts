import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Database, Db } from '../src/database.ts';
import { endSecretChange, rotateWebhookSecret } from '../src/merchants.ts';
import {
  SERVICE_ROLES,
  SERVICE_SCHEMAS,
  serviceRole,
  type RoleName,
  type ServiceSchema,
} from '../src/service-schema.ts';
import { PRESET_CHAINS, familyOf, type Chain } from '@opentill/domain/chains';
import { aFate, aReservedPayout, aSignedPayout } from '@opentill/testkit/payout-scenario';
import {
  aChainCursor,
  aCollection,
  aHotWallet,
  aMerchant,
  aPayout,
  aTransfer,
  TEST_SECRETS_KEY,
} from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';

/*
 * The rights of each role, written a second time by hand (docs/architecture/database.md). A grant that is not listed
 * here is a bug of the migration, and so is a line here without a grant.
 */
type Columns = '*' | readonly string[];
interface Rights {
  readonly select?: Columns;
  readonly insert?: Columns;
  readonly update?: Columns;
  readonly delete?: true;
}
const ALL: Columns = '*';
const READ: Rights = { select: ALL };
const NOTIFICATION: Columns = [
  'event_id',
  'merchant_id',
  'subject_id',
  'sequence',
  'notify_type',
  'data',
  'traceparent',
  'occurred_at',
];

const PROFILE = ['accent_color', 'support_url', 'support_email', 'shop_url'];

/** Excludes the sealed secrets and the logo, which ops only writes. */
const MERCHANT_WITHOUT_SECRETS: Columns = [
  'merchant_id',
  'name',
  'version',
  'sign_version',
  'callback_url',
  'return_origins',
  'order_ttl_seconds',
  'underpayment_tolerance_bps',
  'markup_bps',
  'late_grace_seconds',
  'notify_reverted',
  'notify_unmatched',
  'logo_type',
  'logo_hash',
  ...PROFILE,
  'rate_limits',
  'webhook_secret_switch_at',
  'enabled',
  'created_at',
  'updated_at',
];

/** Excludes the signed bytes. */
const OWN_TRANSACTION: Columns = [
  'chain',
  'tx_hash',
  'family',
  'wallet',
  'nonce',
  'purpose',
  'order_pk',
  'contract_address',
  'to_address',
  'amount',
  'fee_terms',
  'signed_at',
  'first_sent_at',
  'last_sent_at',
  'send_outcome',
];
/** Excludes the signed bytes. */
const FORGOTTEN_PAYMENT: Columns = [
  'chain',
  'tx_hash',
  'restore_id',
  'wallet',
  'nonce',
  'contract_address',
  'to_address',
  'amount',
  'block_height',
  'block_time',
  'found_at',
  'decision',
  'order_pk',
  'decided_by',
  'decided_reason',
  'decided_at',
  'guards',
];
const RESTORES: Record<string, Rights> = {
  ...Object.fromEntries(
    ['restoration', 'skipped_index', 'restore_hold', 'doubtful_payout'].map((table) => [table, READ]),
  ),
  forgotten_payment: { select: FORGOTTEN_PAYMENT },
};
const HALT: Columns = ['halt_id', 'chain', 'wallet', 'kind', 'reason', 'set_by', 'set_at'];

/** Row policies limit it to its family. */
const SCANNER: Record<string, Rights> = {
  chain_cursor: { select: ALL, insert: ALL, update: ALL },
  block: { select: ALL, insert: ALL, update: ALL, delete: true },
  transfer: { select: ALL, insert: ALL, update: ALL },
  deposit_address: READ,
  orders: { select: ['order_pk', 'traceparent'] },
  rescan_request: { select: ALL, update: ['done_at', 'found', 'next_height'] },
  chain_family: READ,
  hot_wallet: READ,
  wallet_nonce: READ,
  chain_pause: READ,
  own_transaction: { select: OWN_TRANSACTION },
  payout_attempt: READ,
  own_transaction_fate: { select: ALL, insert: ALL, update: ALL },
  chain_status: { select: ALL, insert: ALL, update: ALL },
};
const FOREIGN: Record<string, Rights> = {
  foreign_transaction: { select: ALL, insert: ALL },
  foreign_transfer: { select: ALL, insert: ALL },
};

const EXPECTED: Record<RoleName, Record<string, Rights>> = {
  api: {
    chain_family: READ,
    merchant: {
      select: [
        'merchant_id',
        'name',
        'version',
        'sign_version',
        'token_sealed',
        'return_origins',
        'order_ttl_seconds',
        'underpayment_tolerance_bps',
        'markup_bps',
        'late_grace_seconds',
        'logo',
        'logo_type',
        'logo_hash',
        ...PROFILE,
        'rate_limits',
        'enabled',
        'created_at',
        'updated_at',
      ],
    },
    rate: { select: ['rate_id', 'symbol', 'currency', 'rate', 'valid_until'] },
    current_rate: { select: ['symbol', 'currency', 'rate_id', 'refusal'] },
    request_nonce: { select: ALL, insert: ALL, delete: true },
    rate_counter: { select: ALL, insert: ALL, update: ALL, delete: true },
    new_order: { select: ALL, insert: ALL }, // a view of orders, read and written with the caller's own rights
    orders: {
      select: ALL,
      insert: [
        'order_pk',
        'merchant_id',
        'order_id',
        'order_type',
        'uid',
        'chain',
        'family',
        'symbol',
        'contract_address',
        'decimals',
        'display_decimals',
        'amount',
        'accepted_amount',
        'address',
        'source_address',
        'confirmations_required',
        'late_grace_seconds',
        'return_url',
        'description',
        'signed_data_hash',
        'traceparent',
        'created_at',
        'expires_at',
        'currency',
        'price',
        'rate',
        'rate_id',
        'markup_bps',
        'choices',
        'link_id',
      ],
    },
    order_option: {
      select: ALL,
      insert: [
        // rows by policy: with their order
        'order_pk',
        'place',
        'chain',
        'family',
        'symbol',
        'contract_address',
        'decimals',
        'display_decimals',
        'amount',
        'confirmations_required',
        'currency',
        'rate',
        'rate_id',
      ],
    },
    payment_link: { select: ALL, insert: ALL, update: ['closed_at'] },
    deposit_address: { select: ALL, insert: ALL },
    notification: { select: ALL, insert: NOTIFICATION }, // rows by policy: only the first of an order
    transfer: READ,
    unmatched_deposit: READ,
    transfer_settlement: { select: ['transfer_id', 'credited'] },
    chain_cursor: READ,
    'tracker.lease': READ,
    'webhook.lease': READ,
    'scanner_evm.lease': READ,
    'scanner_tron.lease': READ,
    'scanner_sui.lease': READ,
    'signer.lease': READ,
    'ops.lease': READ,
    hot_wallet: READ,
    payout: READ,
    own_transaction: { select: OWN_TRANSACTION },
    own_transaction_fate: READ,
    movement: READ,
    chain_status: READ,
  },
  scanner_evm: SCANNER,
  scanner_tron: { ...SCANNER, ...FOREIGN },
  scanner_sui: {
    ...SCANNER,
    ...FOREIGN,
    restore_hold: READ,
    own_transaction_landed: { select: ALL, insert: ALL },
    epoch_end: { select: ALL, insert: ALL },
    epoch_committee: { select: ALL, insert: ALL, update: ['end_height', 'end_hash'] },
  },
  tracker: {
    merchant: { select: ['merchant_id', 'notify_reverted', 'notify_unmatched', 'enabled'] },
    orders: {
      select: ALL,
      update: [
        'status',
        'reason',
        'detected_amount',
        'actual_amount',
        'version',
        'updated_at',
        'late_callback_at',
        'late_callback_due_at',
        'unmatched_callback_at',
        'unmatched_callback_due_at',
      ],
    },
    deposit_address: READ,
    chain_cursor: READ,
    block: READ,
    transfer: READ,
    transfer_settlement: { select: ALL, insert: ALL, update: ALL },
    unmatched_deposit: { select: ALL, insert: ALL, update: ALL },
    incident: { select: ALL, insert: ALL, update: ['details', 'closed_at'] },
    asset_hold: { select: ALL, insert: ALL },
    notification: { select: ALL, insert: NOTIFICATION },
    ledger_account: READ,
    ledger_transaction: { select: ALL, insert: ['ref', 'kind', 'order_pk', 'created_at'] },
    ledger_posting: { select: ALL, insert: ALL },
    hot_wallet: READ,
    payout: READ,
    own_transaction: { select: OWN_TRANSACTION },
    own_transaction_fate: READ,
    own_transaction_settlement: READ,
    order_decision: { select: ALL, update: ['handled_at', 'outcome'] },
    deposit_balance: READ,
    sweep: READ,
    movement: READ,
    order_option: READ,
    collection_sum: READ,
    collection_height_sum: READ,
    collection_away: READ,
    relocated_transfer: READ,
  },
  signer: {
    chain_family: READ,
    ...Object.fromEntries(
      [
        'orders',
        'chain_cursor',
        'transfer',
        'block',
        'asset_hold',
        'deposit_address',
        'hot_wallet',
        'ledger_account',
        'ledger_transaction',
        'ledger_posting',
        'own_transaction_fate',
        'payout_approval',
        'payout_veto',
      ].map((table) => [table, READ]),
    ),
    chain_status: { select: ALL, insert: ALL, update: ALL }, // rows by policy: its own service only
    payout: {
      select: ALL,
      update: [
        'state',
        'expires_at',
        'waiting_since',
        'authorised_at',
        'first_sent_at',
        'reason',
        'obstacle',
        'obstacle_at',
        'fencing_token',
        'version',
        'updated_at',
      ],
    },
    ...RESTORES,
    'signer.policy_windows': { select: ALL, insert: ALL, update: ALL }, // an update right is what a row lock takes
    wallet_nonce: { select: ALL, insert: ALL, update: ALL },
    payout_attempt: {
      select: ALL,
      insert: [
        'chain',
        'tx_hash',
        'wallet',
        'order_pk',
        'unique_ms',
        'expires_ms',
        'reference_height',
        'reference_hash',
        'first_epoch',
        'last_epoch',
      ],
      update: ['state', 'dead_height', 'dead_hash', 'updated_at'],
    },
    own_transaction: { select: ALL, insert: ALL, update: ['first_sent_at', 'last_sent_at', 'send_outcome'] },
    wallet_halt: { select: ALL, insert: [...HALT, 'mark'] }, // rows by policy: FOREIGN_NONCE and RESTORED only
    payout_decision: { select: ALL, update: ['handled_at', 'outcome', 'detail'] },
    hot_wallet_balance: { select: ALL, insert: ALL, update: ALL },
    foreign_deposit_address: { select: ALL, insert: ALL },
    deposit_balance: READ,
    movement: READ,
    sweep: { select: ALL, insert: ALL, update: ALL },
    sweep_pause: READ,
    sweep_plan: { select: ALL, insert: ALL, update: ALL },
    sweep_request: { select: ALL, update: ['handled_at', 'planned'] },
    unmatched_deposit: READ,
    own_transaction_settlement: READ,
    foreign_transaction: { select: ALL, update: ['halt_id'] },
    foreign_transfer: READ,
    own_transaction_landed: READ,
    epoch_end: READ,
    epoch_committee: READ,
  },
  webhook: {
    merchant: {
      select: [
        'merchant_id',
        'webhook_secret_sealed',
        'webhook_secret_next_sealed',
        'webhook_secret_switch_at',
        'callback_url',
        'enabled',
        'updated_at',
      ],
    },
    callback_endpoint: { select: ALL, insert: ALL, update: ALL },
    notification: READ,
    delivery: { select: ALL, insert: ALL, update: ALL },
    delivery_attempt: { select: ALL, insert: ALL },
  },
  ops: {
    foreign_deposit_address: READ,
    rate: READ,
    payment_link: READ,
    ...Object.fromEntries(
      [
        'request_nonce',
        'rate_counter',
        'orders',
        'deposit_address',
        'notification',
        'chain_cursor',
        'chain_family',
        'block',
        'transfer',
        'transfer_settlement',
        'unmatched_deposit',
        'ledger_account',
        'ledger_transaction',
        'ledger_posting',
        'delivery',
        'delivery_attempt',
        'callback_endpoint',
        'schema_migration',
        'payout',
        'wallet_nonce',
        'payout_attempt',
        'own_transaction_fate',
        'own_transaction_settlement',
        'hot_wallet_balance',
        'hand_booking',
        'deposit_balance',
        'sweep',
        'movement',
        'foreign_transaction',
        'foreign_transfer',
        'own_transaction_landed',
        'epoch_end',
        'epoch_committee',
        'order_option',
        'collection_sum',
        'collection_height_sum',
        'collection_away',
        'relocated_transfer',
        'api.lease',
        'scanner_evm.lease',
        'scanner_tron.lease',
        'scanner_sui.lease',
        'tracker.lease',
        'signer.lease',
        'webhook.lease',
      ].map((table) => [table, READ]),
    ),
    merchant: { select: MERCHANT_WITHOUT_SECRETS, insert: ALL, update: ALL },
    rescan_request: { select: ALL, insert: ALL },
    ...RESTORES,
    own_transaction: { select: OWN_TRANSACTION },
    hot_wallet: { select: ALL, insert: ALL, update: ['label'] },
    wallet_halt: {
      select: ALL,
      insert: HALT, // rows by policy: its own kind
      update: ['released_at', 'released_by', 'released_reason'],
    },
    payout_approval: { select: ALL, insert: ALL },
    payout_veto: { select: ALL, insert: ALL },
    order_decision: {
      select: ALL,
      insert: [
        'decision_id',
        'order_pk',
        'decision',
        'reason',
        'operator',
        'decided_at',
        'transfer_id',
        'transfer_symbol',
        'transfer_amount',
        'worth',
      ],
    },
    payout_decision: {
      select: ALL,
      insert: [
        'decision_id',
        'order_pk',
        'nonce',
        'decision',
        'tx_hash',
        'reason',
        'operator',
        'decided_at',
        'unproven_tx_hash',
      ],
      update: ['unproven_tx_hash', 'reason', 'operator', 'decided_at'],
    },
    chain_pause: { select: ALL, insert: ALL, delete: true },
    chain_status: READ,
    sweep_pause: { select: ALL, insert: ALL, delete: true },
    sweep_plan: READ,
    sweep_request: { select: ALL, insert: ['chain', 'operator'] },
    operator: { select: ALL, insert: ALL, update: ['name', 'role', 'token_hash', 'disabled_at'] },
    audit_entry: {
      select: ALL,
      insert: ['operator', 'action', 'subject', 'outcome', 'details', 'request_id'],
    },
    asset_hold: {
      select: ALL,
      insert: ['hold_id', 'chain', 'symbol', 'reason', 'set_at', 'set_by'],
      update: ['released_at', 'released_by', 'released_reason'],
    },
    incident: { select: ALL, update: ['closed_at', 'closed_by', 'closed_reason'] },
  },
  rates: {
    rate: { select: ['rate_id', 'taken_at'], insert: ALL, delete: true },
    current_rate: { select: ALL, insert: ALL, update: ['rate_id', 'refusal', 'decided_at'], delete: true },
    orders: { select: ['rate_id'] },
    order_option: { select: ['rate_id'] },
  },
};

/** Rights to the tables of its own schema. */
const OWN: Record<string, Rights> = {
  outbox: { select: ALL, insert: ALL, delete: true },
  outbox_relay: { select: ALL, update: ALL }, // an update right is what a row lock takes
  inbox: { select: ALL, insert: ALL, delete: true },
  lease: { select: ALL, insert: ALL, update: ALL, delete: true }, // deletes by trigger: presences only
};

const FUNCTIONS: Record<RoleName, readonly string[]> = {
  api: [
    'choose_option',
    'create_collections',
    'create_order_row',
    'create_payout',
    'oldest_transaction_seconds',
    'open_link_order',
    'read_new_order',
    'reserve',
    'roll_inbox',
    'spend_nonce',
  ],
  scanner_evm: ['balance_heights', 'is_chain_awaited', 'oldest_transaction_seconds', 'roll_inbox'],
  scanner_tron: ['balance_heights', 'is_chain_awaited', 'oldest_transaction_seconds', 'roll_inbox'],
  scanner_sui: ['balance_heights', 'is_chain_awaited', 'oldest_transaction_seconds', 'roll_inbox'],
  tracker: [
    'attempt_is_decided',
    'expire_payouts',
    'ledger_account_for',
    'make_gas_payable',
    'oldest_transaction_seconds',
    'payout_may_move',
    'roll_inbox',
    'settle_hot_wallet_deposits',
    'settle_network_fees',
    'settle_payout_money',
  ],
  signer: [
    'attempt_is_decided',
    'attempt_is_over',
    'chain_over_ms',
    'may_be_paid_by_foreign',
    'may_have_been_paid',
    'oldest_transaction_seconds',
    'payout_may_move',
    'plan_movement',
    'roll_inbox',
    'why_epochs_unproven',
  ],
  webhook: [
    'callbacks_due_now',
    'delivery_blocks',
    'forget_ended_callbacks',
    'oldest_transaction_seconds',
    'roll_delivery_attempts',
    'roll_inbox',
  ],
  ops: [
    'book_covered_top_up',
    'book_gas_top_up',
    'book_measured_top_up',
    'book_top_up',
    'finish_webhook_secret',
    'hand_bookings_of',
    'may_be_paid_by_foreign',
    'may_have_been_paid',
    'oldest_transaction_seconds',
    'overlap_webhook_secret',
    'payout_may_move',
    'refund_deposit',
    'replay_deliveries',
    'replay_delivery',
    'reset_callback_endpoint',
    'reverse_top_up',
    'roll_inbox',
    'why_epochs_unproven',
  ],
  rates: [],
};
const SEQUENCES: Record<RoleName, readonly string[]> = {
  api: ['deposit_index_evm', 'deposit_index_sui', 'deposit_index_tron'],
  scanner_evm: [],
  scanner_tron: [],
  scanner_sui: [],
  tracker: [],
  signer: [],
  webhook: [],
  ops: [],
  rates: [],
};
const USES_SCHEMAS: Record<RoleName, readonly ServiceSchema[]> = {
  api: ['api', 'ops', 'scanner_evm', 'scanner_sui', 'scanner_tron', 'signer', 'tracker', 'webhook'],
  scanner_evm: ['scanner_evm'],
  scanner_tron: ['scanner_tron'],
  scanner_sui: ['scanner_sui'],
  tracker: ['tracker'],
  signer: ['signer'],
  webhook: ['webhook'],
  ops: ['api', 'ops', 'scanner_evm', 'scanner_sui', 'scanner_tron', 'signer', 'tracker', 'webhook'],
  rates: [],
};

let testDatabase: TestDatabase;
let admin: Database;
const opened = new Map<RoleName, Database>();
const as = (role: RoleName): Db => opened.get(role)!.kysely;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  for (const role of SERVICE_ROLES) opened.set(role, testDatabase.open(role));
});
afterAll(async () => {
  await Promise.all([admin, ...opened.values()].map((database) => database.close()));
  await testDatabase.drop();
});

const ownRights = (role: RoleName): Record<string, Rights> =>
  role === 'rates'
    ? {}
    : Object.fromEntries(Object.entries(OWN).map(([table, rights]) => [`${role}.${table}`, rights]));

describe.each(SERVICE_ROLES)('the matrix of %s', (role) => {
  test('the role has exactly these rights to tables and columns', async () => {
    const { rows } = await sql<{ name: string; col: string; s: boolean; i: boolean; u: boolean; r: boolean }>`
      select case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as name, a.attname as col,
        has_column_privilege(${serviceRole(role)}, c.oid, a.attnum, 'select') as s,
        has_column_privilege(${serviceRole(role)}, c.oid, a.attnum, 'insert') as i,
        has_column_privilege(${serviceRole(role)}, c.oid, a.attnum, 'update') as u,
        has_column_privilege(${serviceRole(role)}, c.oid, a.attnum, 'references') as r
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where c.relkind in ('r', 'p', 'v', 'm', 'f') and a.attnum > 0 and not a.attisdropped
        and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
      order by 1, a.attnum`.execute(admin.kysely);
    const expected = { ...EXPECTED[role], ...ownRights(role) };
    const tables = new Set(rows.map((row) => row.name));
    expect(Object.keys(expected).filter((table) => !tables.has(table))).toEqual([]);
    expect(tables.size).toBeGreaterThan(35);

    const has = (columns: Columns | undefined, column: string) =>
      columns === '*' || (columns?.includes(column) ?? false);
    const differences = rows.flatMap((row) => {
      const rights = expected[row.name] ?? {};
      const want = [
        has(rights.select, row.col),
        has(rights.insert, row.col),
        has(rights.update, row.col),
        false,
      ];
      const got = [row.s, row.i, row.u, row.r];
      return want.every((value, index) => value === got[index])
        ? []
        : [`${row.name}.${row.col}: wanted select, insert, update, references = ${want}; has ${got}`];
    });
    expect(differences).toEqual([]);
  });

  test('the role has exactly these DELETE, TRUNCATE and TRIGGER rights', async () => {
    const { rows } = await sql<{ name: string; d: boolean; x: boolean; owner: boolean }>`
      select case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as name,
        has_table_privilege(${serviceRole(role)}, c.oid, 'delete') as d,
        has_table_privilege(${serviceRole(role)}, c.oid, 'truncate')
          or has_table_privilege(${serviceRole(role)}, c.oid, 'trigger') as x,
        pg_get_userbyid(c.relowner) = ${serviceRole(role)} as owner
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
      order by 1`.execute(admin.kysely);
    const deletable = Object.entries({ ...EXPECTED[role], ...ownRights(role) }).flatMap(([table, rights]) =>
      rights.delete ? [table] : [],
    );
    expect(rows.filter((row) => row.d).map((row) => row.name)).toEqual(deletable.sort());
    expect(rows.filter((row) => row.x || row.owner)).toEqual([]);
  });

  test('the role has exactly these rights to functions, sequences, schemas and database', async () => {
    const functions = await sql<{ name: string }>`
      select p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and has_function_privilege(${serviceRole(role)}, p.oid, 'execute') order by 1`.execute(admin.kysely);
    expect(functions.rows.map((row) => row.name)).toEqual(FUNCTIONS[role]);

    const sequences = await sql<{ name: string; u: boolean; w: boolean }>`
      select c.relname as name, has_sequence_privilege(${serviceRole(role)}, c.oid, 'usage') as u,
        has_sequence_privilege(${serviceRole(role)}, c.oid, 'update') as w
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'S' and n.nspname !~ '^pg_' order by 1`.execute(admin.kysely);
    expect(sequences.rows.filter((row) => row.u).map((row) => row.name)).toEqual(SEQUENCES[role]);
    expect(sequences.rows.filter((row) => row.w)).toEqual([]);

    const schemas = await sql<{ name: string; u: boolean; c: boolean }>`
      select nspname as name, has_schema_privilege(${serviceRole(role)}, oid, 'usage') as u,
        has_schema_privilege(${serviceRole(role)}, oid, 'create') as c
      from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`.execute(
      admin.kysely,
    );
    expect(schemas.rows.filter((row) => row.u).map((row) => row.name)).toEqual(
      ['public', ...USES_SCHEMAS[role]].sort(),
    );
    expect(schemas.rows.filter((row) => row.c)).toEqual([]);

    const self = await sql<Record<string, boolean>>`
      select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
        has_database_privilege(rolname, current_database(), 'create') as creates,
        has_database_privilege(rolname, current_database(), 'temporary') as temporary,
        exists (select from pg_auth_members where member = r.oid) as member
      from pg_roles r where rolname = ${serviceRole(role)}`.execute(admin.kysely);
    expect(Object.values(self.rows[0]!)).toEqual(Array.from({ length: 8 }, () => false));
  });

  test('the role can neither create nor drop objects', async () => {
    for (const statement of [
      'create table public.mine (x int)',
      'create temporary table orders (x int)',
      `create table ${role}.mine (x int)`,
      'create function public.mine() returns int language sql as $$ select 1 $$',
      `create function ${role}.mine() returns int language sql as $$ select 1 $$`,
      'create schema mine',
      'create view public.mine as select 1',
      'truncate orders cascade',
      'truncate ledger_posting',
      `truncate ${role}.outbox`,
      'drop table orders',
      'alter table orders disable trigger all',
      'delete from orders',
      'delete from ledger_posting',
      'update ledger_posting set amount = 1',
      'update ledger_transaction set ref = ref',
      'update ledger_account set balance = 0',
      'delete from ledger_account',
      'delete from notification',
      'update notification set data = data',
      "set session_replication_role = 'replica'",
      'set role opentill_ops_of_nobody',
      'update schema_migration set checksum = checksum',
      "select setval('deposit_index_evm', 0)",
    ]) {
      await expect(sql.raw(statement).execute(as(role))).rejects.toThrow(
        /permission denied|must be owner|does not exist|ledger is append-only/,
      );
    }
  });

  test('the role cannot switch to another role', async () => {
    for (const other of SERVICE_SCHEMAS.filter((schema) => schema !== role)) {
      await expect(sql.raw(`set role ${serviceRole(other)}`).execute(as(role))).rejects.toMatchObject({
        code: 'DATABASE_FORBIDDEN',
      });
      await expect(
        sql`insert into ${sql.table(`${other}.outbox`)} (event_id, routing_key, payload)
          values (${randomUUID()}, 'order.changed._', '{}')`.execute(as(role)),
      ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
      await expect(
        sql`update ${sql.table(`${other}.lease`)} set holder = 'me'`.execute(as(role)),
      ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
      await expect(sql`delete from ${sql.table(`${other}.inbox`)}`.execute(as(role))).rejects.toMatchObject({
        code: 'DATABASE_FORBIDDEN',
      });
    }
  });
});

test('PUBLIC may execute none of the functions that migrations create', async () => {
  const { rows } = await sql<{ name: string; definer: boolean; acl: string | null; open: boolean }>`
    select n.nspname || '.' || p.proname as name, p.prosecdef as definer, p.proacl::text as acl,
      p.proacl is null or exists (select from aclexplode(p.proacl) x where x.grantee = 0) as open
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`.execute(admin.kysely);
  expect(rows.filter((row) => row.definer).length).toBeGreaterThan(15);
  expect(rows.filter((row) => row.open)).toEqual([]);
});

describe('forbidden statements', () => {
  const refused = { code: 'DATABASE_FORBIDDEN' };

  test('only the tracker updates an order, and only its state', async () => {
    const order = await aCollection(admin.kysely);
    for (const role of SERVICE_ROLES.filter((name) => name !== 'tracker')) {
      const move = as(role)
        .updateTable('orders')
        .set({ status: 'SUCCESS' })
        .where('order_pk', '=', order.order_pk);
      await expect(move.execute()).rejects.toMatchObject(refused);
    }
    const tracker = as('tracker').updateTable('orders').where('order_pk', '=', order.order_pk);
    await expect(tracker.set({ amount: 1n }).execute()).rejects.toMatchObject(refused);
    await expect(tracker.set({ address: '0xmine' }).execute()).rejects.toMatchObject(refused);
    await tracker.set({ status: 'PENDING' }).execute();
  });

  test('only the api creates orders, and only in INIT', async () => {
    const { updated_at: _, cutoff_at: __, ...order } = await aCollection(admin.kysely);
    for (const role of SERVICE_ROLES.filter((name) => name !== 'api')) {
      const insert = as(role)
        .insertInto('orders')
        .values({ ...order, order_pk: randomUUID(), order_id: role });
      await expect(insert.execute()).rejects.toMatchObject(refused);
    }
    const paid = as('api')
      .insertInto('orders')
      .values({ ...order, order_pk: randomUUID(), order_id: 'x', status: 'SUCCESS' });
    await expect(paid.execute()).rejects.toMatchObject(refused);
  });

  test('only a scanner writes transfers and cursors', async () => {
    const order = await aCollection(admin.kysely);
    const { transfer_id: _, ...transfer } = await aTransfer(admin.kysely, order);
    const cursor = await aChainCursor(admin.kysely);
    for (const role of SERVICE_ROLES.filter((name) => !name.startsWith('scanner_'))) {
      const insert = as(role)
        .insertInto('transfer')
        .values({ ...transfer, position: `log:${role}` });
      await expect(insert.execute()).rejects.toMatchObject(refused);
      await expect(
        as(role).updateTable('transfer').set({ state: 'VERIFIED' }).execute(),
      ).rejects.toMatchObject(refused);
      await expect(
        as(role).updateTable('chain_cursor').set({ verified_height: 1 }).execute(),
      ).rejects.toMatchObject(refused);
    }
    await as('scanner_evm')
      .insertInto('transfer')
      .values({ ...transfer, position: 'log:1' })
      .execute();
    await as('scanner_evm')
      .updateTable('chain_cursor')
      .set({ head_height: cursor.head_height + 1 })
      .execute();
  });

  test('a scanner writes only the chains of its family', async () => {
    const order = await aCollection(admin.kysely);
    const { transfer_id: _, ...transfer } = await aTransfer(admin.kysely, order);
    const cursor = await aChainCursor(admin.kysely, { chain: 'BSC' });
    const scanner = as('scanner_evm');
    const forged = [
      { chain: 'TRON', family: 'TRON' },
      { chain: 'TRON', family: 'EVM' },
      { chain: 'POLYGON', family: 'SUI' },
    ] as const;
    for (const [place, foreign] of forged.entries()) {
      const paid = { ...transfer, ...foreign, position: `log:9${place}`, state: 'VERIFIED' } as const;
      await expect(scanner.insertInto('transfer').values(paid).execute()).rejects.toMatchObject(refused);
      const nextYear = { ...cursor, ...foreign, verified_time: new Date(Date.now() + 365 * 86_400_000) };
      await expect(scanner.insertInto('chain_cursor').values(nextYear).execute()).rejects.toMatchObject(
        refused,
      );
      const disguise = (table: 'chain_cursor' | 'transfer') =>
        scanner
          .updateTable(table)
          .set(foreign)
          .where('chain', '=', table === 'transfer' ? order.chain : 'BSC');
      await expect(disguise('chain_cursor').execute()).rejects.toMatchObject(refused);
      await expect(disguise('transfer').execute()).rejects.toMatchObject(refused);
    }
    const block = { height: 1, hash: '0x1', parent_hash: '0x0', block_time: new Date() };
    await expect(
      scanner
        .insertInto('block')
        .values({ ...block, chain: 'SUI' })
        .execute(),
    ).rejects.toMatchObject(refused);

    const tron = { chain: 'TRON', family: 'TRON' } as const;
    await aChainCursor(admin.kysely, tron);
    await admin.kysely
      .insertInto('transfer')
      .values({ ...transfer, ...tron })
      .execute();
    await admin.kysely
      .insertInto('block')
      .values({ ...block, chain: 'TRON' })
      .execute();
    await admin.kysely
      .insertInto('rescan_request')
      .values({ chain: 'TRON', from_height: 1, to_height: 2 })
      .execute();
    const touched = await Promise.all([
      scanner
        .updateTable('chain_cursor')
        .set({ verified_height: 1 })
        .where('chain', '=', 'TRON')
        .executeTakeFirst(),
      scanner
        .updateTable('transfer')
        .set({ state: 'ORPHANED' })
        .where('chain', '=', 'TRON')
        .executeTakeFirst(),
      scanner.updateTable('block').set({ hash: '0x2' }).where('chain', '=', 'TRON').executeTakeFirst(),
      scanner.updateTable('rescan_request').set({ found: 0 }).where('chain', '=', 'TRON').executeTakeFirst(),
    ]);
    expect(touched.map((result) => result.numUpdatedRows)).toEqual([0n, 0n, 0n, 0n]);
    const gone = await scanner.deleteFrom('block').where('chain', '=', 'TRON').executeTakeFirst();
    expect(gone.numDeletedRows).toBe(0n);
  });

  test('each scanner writes its own family, by the same policies', async () => {
    const block = { height: 5, hash: 'a', parent_hash: 'b', block_time: new Date() };
    const write = (role: ServiceSchema, chain: Chain): Promise<unknown> =>
      as(role)
        .insertInto('block')
        .values({ ...block, chain, height: 88 })
        .execute();
    for (const chain of PRESET_CHAINS) {
      const own = { EVM: 'scanner_evm', TRON: 'scanner_tron', SUI: 'scanner_sui' }[familyOf(chain)];
      for (const role of ['scanner_evm', 'scanner_tron', 'scanner_sui'] as const)
        if (role === own) await write(role, chain);
        else await expect(write(role, chain)).rejects.toMatchObject(refused);
    }
    const { rows } = await sql<{ policy: string; condition: string }>`
      select role, json_agg(regexp_replace(regexp_replace(t, 'tron|sui', 'evm', 'g'), 'TRON|SUI', 'EVM', 'g') order by
          regexp_replace(t, 'tron|sui', 'evm', 'g')) as policies from (
        select role, concat_ws(' ', tablename, policyname, cmd, qual, with_check) as t from pg_policies, unnest(roles) role
        where role in ('opentill_scanner_evm', 'opentill_scanner_tron', 'opentill_scanner_sui')
          and tablename not in ('foreign_transaction', 'foreign_transfer', 'own_transaction_landed', 'epoch_end', 'epoch_committee')) p -- of families without nonces, or of SUI, alone
      group by role`.execute(admin.kysely);
    const [one, ...others] = rows as unknown as readonly { policies: readonly string[] }[];
    expect(one!.policies.length).toBeGreaterThan(9);
    expect(others).toHaveLength(2);
    for (const { policies } of others) expect(policies).toEqual(one!.policies);
  });

  test('the policies of scanners find the chains of a family in one table', async () => {
    const block = { height: 1, hash: '0x1', parent_hash: '0x0', block_time: new Date() };
    for (const chain of PRESET_CHAINS.filter((value) => familyOf(value) === 'EVM'))
      await as('scanner_evm')
        .insertInto('block')
        .values({ ...block, chain, height: 77 })
        .execute();
    const { rows } = await sql<{ policy: string; condition: string }>`
      select tablename || ' ' || policyname as policy, coalesce(with_check, qual) as condition from pg_policies
      where 'opentill_scanner_evm' = any(roles) order by 1`.execute(admin.kysely);
    expect(rows.map((row) => row.policy)).toEqual([
      'block evm_deletes',
      'block evm_inserts',
      'block evm_updates',
      'chain_cursor evm_inserts',
      'chain_cursor evm_updates',
      'chain_status evm_inserts',
      'chain_status evm_updates',
      'own_transaction_fate evm_inserts',
      'own_transaction_fate evm_updates',
      'rescan_request evm_answers',
      'transfer evm_inserts',
      'transfer evm_updates',
    ]);
    for (const { condition } of rows) {
      expect(condition).toMatch(/chain_family/);
      expect([...condition.matchAll(/'([A-Z_]+)'::text/g)].map((match) => match[1])).not.toContain('ETH');
    }
  });

  test('a service reports the state of a chain under its own name only', async () => {
    const report = (role: ServiceSchema, service: string, chain: string) =>
      sql`insert into chain_status (chain, service, state) values (${chain}, ${service}, 'HALTED')
        on conflict (chain, service) do update set state = excluded.state`.execute(as(role));
    await report('scanner_evm', 'SCANNER', 'ETH');
    await report('signer', 'SIGNER', 'ETH');
    const refused = /row-level security/;
    await expect(report('scanner_evm', 'SIGNER', 'ETH')).rejects.toThrow(refused);
    await expect(report('scanner_evm', 'SCANNER', 'TRON')).rejects.toThrow(refused);
    await expect(report('scanner_tron', 'SCANNER', 'ETH')).rejects.toThrow(refused);
    await expect(report('signer', 'SCANNER', 'ETH')).rejects.toThrow(refused);
  });

  test('the tracker books incoming transfers, but never to the hot wallet', async () => {
    const account = (kind: string) => sql`ledger_account_for(${kind}, 'ETH', 'USDT', null)`;
    const book = (kind: string, debited: string, credited: string) =>
      as('tracker')
        .transaction()
        .execute(async (tx) => {
          const { rows } = await sql<{ id: number }>`
            insert into ledger_transaction (ref, kind) values (${randomUUID()}, ${kind})
            returning ledger_tx_id as id`.execute(tx);
          await sql`insert into ledger_posting (ledger_tx_id, account_id, amount)
            values (${rows[0]!.id}, ${account(debited)}, 1), (${rows[0]!.id}, ${account(credited)}, -1)`.execute(
            tx,
          );
        });
    for (const kind of [
      'TOP_UP',
      'GAS_TOP_UP',
      'TOP_UP_REVERSED',
      'RESERVE',
      'RELEASE',
      'PAYOUT_SENT',
      'PAYOUT',
      'PAYOUT_REVERSED',
      'PAYOUT_RETURNED',
      'PAYOUT_RETURN_REVERSED',
      'NETWORK_FEE',
      'NETWORK_FEE_REVERSED',
    ]) {
      await expect(book(kind, 'HOT_AVAILABLE', 'OWNER')).rejects.toMatchObject(refused);
    }
    for (const kind of ['DEPOSIT', 'DEPOSIT_REVERSED', 'CREDIT', 'CREDIT_REVERSED']) {
      await expect(book(kind, 'HOT_AVAILABLE', 'OWNER')).rejects.toMatchObject({
        code: 'DATABASE_CONSTRAINT',
      });
    }
    await book('DEPOSIT', 'DEPOSIT', 'SUSPENSE');
  });

  test('only ops writes merchants, and only services that need a secret read it', async () => {
    for (const role of SERVICE_ROLES.filter((name) => name !== 'ops')) {
      await expect(
        as(role).updateTable('merchant').set({ callback_url: 'http://mine' }).execute(),
      ).rejects.toMatchObject(refused);
    }
    await expect(
      as('api').selectFrom('merchant').select('webhook_secret_sealed').execute(),
    ).rejects.toMatchObject(refused);
    await expect(as('webhook').selectFrom('merchant').select('token_sealed').execute()).rejects.toMatchObject(
      refused,
    );
    for (const role of ['tracker', 'scanner_evm', 'signer', 'ops'] as const) {
      await expect(as(role).selectFrom('merchant').select('token_sealed').execute()).rejects.toMatchObject(
        refused,
      );
    }
  });

  test('ops writes merchant secrets and cannot copy them to a column that it reads', async () => {
    await aMerchant(admin.kysely, { merchantId: 'sealed' });
    for (const column of ['token_sealed', 'webhook_secret_sealed', 'webhook_secret_next_sealed']) {
      const carried = sql`update merchant set rate_limits = jsonb_build_object('x', encode(${sql.ref(column)}, 'hex'))`;
      await expect(carried.execute(as('ops'))).rejects.toMatchObject(refused);
    }
    const sealed = () =>
      admin.kysely
        .selectFrom('merchant')
        .select(['webhook_secret_sealed as now', 'webhook_secret_next_sealed as next'])
        .where('merchant_id', '=', 'sealed')
        .executeTakeFirstOrThrow();
    const before = await sealed();
    await rotateWebhookSecret(as('ops'), TEST_SECRETS_KEY, 'sealed', 3_600);
    const during = await sealed();
    expect(during.now).toEqual(before.now);
    await endSecretChange(as('ops'), 'sealed', 'FINISH');
    expect(await sealed()).toEqual({ now: during.next, next: null });
  });

  test('the api writes only the first notification of an order', async () => {
    const order = await aCollection(admin.kysely);
    const payout = await aPayout(admin.kysely);
    const broadcast = await aPayout(admin.kysely, { status: 'PENDING' });
    const other = await aCollection(admin.kysely);
    const paid = await aCollection(admin.kysely, { status: 'SUCCESS', actual_amount: 1n });
    const data = { orderId: order.order_id, status: 'INIT', actualAmount: null, transaction: null };
    const notification = {
      event_id: randomUUID(),
      merchant_id: order.merchant_id,
      subject_id: order.order_pk,
      sequence: 1,
      notify_type: 'ORDER_PENDING' as const,
      data: JSON.stringify(data),
      occurred_at: new Date(),
    };
    const forged: Partial<typeof notification | { notify_type: 'ORDER_SUCCESS' }>[] = [
      { notify_type: 'ORDER_SUCCESS' },
      { sequence: 2 },
      { data: JSON.stringify({ ...data, status: 'SUCCESS' }) },
      { data: `{"status":"SUCCESS",${JSON.stringify(data).slice(1)}` },
      { data: `{"st\\u0061tus":"SUCCESS",${JSON.stringify(data).slice(1)}` },
      { data: JSON.stringify({ ...data, actualAmount: '250.00' }) },
      { data: JSON.stringify({ ...data, transaction: { txid: '0x' } }) },
      { data: JSON.stringify({ ...data, orderId: other.order_id }) },
      { merchant_id: other.merchant_id },
      { subject_id: randomUUID() },
      {
        subject_id: payout.order_pk,
        merchant_id: payout.merchant_id,
        data: JSON.stringify({ ...data, orderId: payout.order_id, orderType: 'COLLECTION' }),
      },
      {
        subject_id: broadcast.order_pk,
        merchant_id: broadcast.merchant_id,
        data: JSON.stringify({ ...data, orderId: broadcast.order_id }),
      },
      {
        subject_id: paid.order_pk,
        merchant_id: paid.merchant_id,
        data: JSON.stringify({ ...data, orderId: paid.order_id }),
      },
    ];
    for (const change of forged) {
      const insert = as('api')
        .insertInto('notification')
        .values({ ...notification, ...change });
      await expect(insert.execute()).rejects.toMatchObject(refused);
    }
    await as('api').insertInto('notification').values(notification).execute();
    const ofPayout = {
      ...notification,
      event_id: randomUUID(),
      subject_id: payout.order_pk,
      merchant_id: payout.merchant_id,
      data: JSON.stringify({ ...data, orderId: payout.order_id, orderType: 'PAYOUT' }),
    };
    await as('api').insertInto('notification').values(ofPayout).execute();
    for (const role of ['scanner_evm', 'webhook', 'ops', 'signer'] as const) {
      const insert = as(role)
        .insertInto('notification')
        .values({ ...notification, event_id: randomUUID(), sequence: 2 });
      await expect(insert.execute()).rejects.toMatchObject(refused);
    }
    await as('tracker')
      .insertInto('notification')
      .values({ ...notification, event_id: randomUUID(), sequence: 2, notify_type: 'ORDER_SUCCESS' })
      .execute();
  });

  test('ledger rows are written only through functions', async () => {
    const payout = await aPayout(admin.kysely);
    await aHotWallet(admin.kysely);
    for (const role of SERVICE_ROLES.filter((name) => name !== 'ops')) {
      await expect(sql`select book_top_up('x', 'ETH', 'USDT', 1)`.execute(as(role))).rejects.toMatchObject(
        refused,
      );
    }
    for (const role of SERVICE_ROLES.filter((name) => name !== 'api')) {
      await expect(sql`select reserve(${payout.order_pk})`.execute(as(role))).rejects.toMatchObject(refused);
    }
    for (const role of SERVICE_ROLES.filter((name) => name !== 'tracker')) {
      const book = as(role).insertInto('ledger_transaction').values({ ref: 'x', kind: 'TOP_UP' });
      await expect(book.execute()).rejects.toMatchObject(refused);
      await expect(
        sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values (1, 1, 1)`.execute(as(role)),
      ).rejects.toMatchObject(refused);
    }
    const forgedAge = sql`insert into ledger_transaction (ref, kind, written_by) values ('x', 'TOP_UP', '1')`;
    await expect(forgedAge.execute(as('tracker'))).rejects.toMatchObject(refused);
  });

  test('ops requests rescans but completes none; it lifts holds, but none of an incident', async () => {
    await as('ops')
      .insertInto('rescan_request')
      .values({ chain: 'ETH', from_height: 1, to_height: 2 })
      .execute();
    await expect(as('ops').updateTable('rescan_request').set({ found: 1 }).execute()).rejects.toMatchObject(
      refused,
    );
    await as('scanner_evm').updateTable('rescan_request').set({ found: 1, done_at: new Date() }).execute();
    const hold = {
      hold_id: randomUUID(),
      chain: 'ETH',
      symbol: 'USDT',
      reason: 'test',
      set_at: new Date(),
    } as const;
    await as('ops')
      .insertInto('asset_hold')
      .values({ ...hold, hold_id: randomUUID() })
      .execute();
    await expect(
      as('ops')
        .insertInto('asset_hold')
        .values({ ...hold, hold_id: randomUUID(), incident_id: randomUUID() })
        .execute(),
    ).rejects.toMatchObject(refused);
    await as('tracker').insertInto('asset_hold').values(hold).execute();
    await expect(
      as('tracker').updateTable('asset_hold').set({ released_at: new Date() }).execute(),
    ).rejects.toMatchObject(refused);
    await as('ops').updateTable('asset_hold').set({ released_at: new Date() }).execute();
  });

  test('only the signer writes payouts, nonces and own transactions and reads the bytes', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely);
    const young = await aReservedPayout(admin.kysely);
    for (const role of SERVICE_ROLES.filter((name) => name !== 'signer')) {
      for (const attempt of [
        sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${young.order_pk}`,
        sql`insert into payout (order_pk, chain, wallet, expires_at) values (${order.order_pk}, 'ETH', 'x', now())`,
        sql`insert into wallet_nonce (chain, wallet, nonce, state) values ('ETH', 'x', 0, 'RESERVED')`,
        sql`update wallet_nonce set state = 'FINAL'`,
        sql`update own_transaction set last_sent_at = now()`,
        sql`insert into own_transaction select * from own_transaction`,
        sql`select raw from own_transaction`,
        sql`select * from own_transaction`,
        sql`insert into hot_wallet_balance values ('ETH', 'x', 'USDT', null, 1, 1, 'x', now())`,
      ])
        await expect(attempt.execute(as(role))).rejects.toMatchObject(refused);
    }
    const bytes = await as('signer').selectFrom('own_transaction').select('raw').execute();
    expect(bytes.map((row) => row.raw)).toContainEqual(transaction.raw);
    for (const change of [sql`raw = '\\x00'`, sql`to_address = 'mine'`, sql`amount = 1`, sql`nonce = 7`])
      await expect(sql`update own_transaction set ${change}`.execute(as('signer'))).rejects.toMatchObject(
        refused,
      );
    await expect(
      sql`insert into payout (order_pk, chain, wallet, expires_at) values (${order.order_pk}, 'ETH', 'x', now())`.execute(
        as('signer'),
      ),
    ).rejects.toMatchObject(refused);
  });

  test('only a scanner of the family writes the outcome of a transaction', async () => {
    const { transaction } = await aSignedPayout(admin.kysely);
    const tron = (await aSignedPayout(admin.kysely, { chain: 'TRON' })).transaction;
    for (const role of SERVICE_ROLES.filter((name) => name !== 'scanner_evm'))
      await expect(aFate(as(role), transaction, 'VERIFIED')).rejects.toMatchObject(refused);
    await aFate(as('scanner_evm'), transaction, 'MINED');
    await aFate(as('scanner_evm'), transaction, 'VERIFIED');
    await expect(aFate(as('scanner_evm'), tron, 'VERIFIED')).rejects.toMatchObject(refused);
    await expect(aFate(as('scanner_evm'), tron, 'VERIFIED', { family: 'EVM' })).rejects.toMatchObject(
      refused,
    );
    await aFate(admin.kysely, tron, 'MINED');
    const touched = await as('scanner_evm')
      .updateTable('own_transaction_fate')
      .set({ state: 'VERIFIED' })
      .where('chain', '=', 'TRON')
      .executeTakeFirst();
    expect(touched.numUpdatedRows).toBe(0n);
  });

  test('only ops writes approvals, vetoes, decisions, operator halts and operators', async () => {
    const { order } = await aSignedPayout(admin.kysely);
    const key = 'ab'.repeat(32);
    const attempts = (n: number) => [
      sql`insert into payout_approval (order_pk, approver, signature) values (${order.order_pk}, ${key}, ${Buffer.alloc(64, n)})`,
      sql`insert into payout_veto (order_pk, operator, reason) values (${order.order_pk}, 'alice', 'no')`,
      sql`insert into order_decision (decision_id, order_pk, decision, reason, operator) values (${randomUUID()}, ${order.order_pk}, 'ACCEPT', 'late', 'alice')`,
      sql`insert into wallet_halt (halt_id, chain, kind, reason) values (${randomUUID()}, 'ETH', 'OPERATOR', 'stop')`,
      sql`insert into operator (operator_id, name, role, token_hash) values ('alice', 'Alice', 'ADMIN', ${Buffer.alloc(32, n)})`,
      sql`insert into audit_entry (operator, action, outcome) values ('alice', 'x', 'DONE')`,
      sql`insert into hot_wallet (family, address) values ('EVM', '0xmine')`,
      sql`insert into chain_pause (chain, operator, reason) values ('ETH', 'alice', 'node')`,
    ];
    for (const role of SERVICE_ROLES.filter((name) => name !== 'ops'))
      for (const attempt of attempts(1))
        await expect(attempt.execute(as(role))).rejects.toMatchObject(refused);
    for (const attempt of attempts(2)) await attempt.execute(as('ops'));
    for (const change of [
      sql`update payout_approval set approver = approver`,
      sql`delete from payout_approval`,
      sql`delete from payout_veto`,
      sql`update order_decision set decision = 'REFUSE'`,
      sql`update order_decision set handled_at = now(), outcome = 'DONE'`,
      sql`update wallet_halt set chain = 'BSC'`,
      sql`delete from wallet_halt`,
      sql`update audit_entry set action = 'y'`,
      sql`delete from audit_entry`,
      sql`truncate audit_entry`,
      sql`insert into audit_entry (operator, action, outcome, at) values ('alice', 'x', 'DONE', 'epoch')`,
      sql`delete from operator`,
      sql`update hot_wallet set address = '0xother'`,
    ])
      await expect(change.execute(as('ops'))).rejects.toMatchObject(refused);
    await sql`update order_decision set handled_at = now(), outcome = 'DONE'`.execute(as('tracker'));
    await expect(
      sql`update order_decision set decision = 'REFUSE'`.execute(as('tracker')),
    ).rejects.toMatchObject(refused);
  });

  test('no role may execute a function of a later migration until it is granted', async () => {
    await sql`create function later_migration() returns integer language sql as 'select 1'`.execute(
      admin.kysely,
    );
    for (const role of SERVICE_ROLES) {
      await expect(sql`select later_migration()`.execute(as(role))).rejects.toMatchObject(refused);
    }
    await sql`drop function later_migration()`.execute(admin.kysely);
  });
});
