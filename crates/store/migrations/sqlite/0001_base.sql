-- The base: people, agents, sessions and turns, approvals, the journal, provider keys.
-- Times are microseconds since 1970. `partition` is a tenant or '-' for GLOBAL. JSON that was hashed is kept as text.

create table settings (
  key text primary key,
  value text not null
) strict;

create table tenants (
  id text primary key check (id <> '-'),
  name text not null,
  active int not null default 1,
  approvals text not null default 'asker',
  created_at int not null
) strict;

create table users (
  id text primary key,
  name text not null,
  email text,
  active int not null default 1,
  platform_admin int not null default 0,
  created_at int not null
) strict;

create table members (
  tenant text not null references tenants (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('Viewer', 'Builder', 'Admin')),
  groups text not null default '[]',
  since int not null,
  primary key (tenant, user_id)
) strict, without rowid;
create index members_by_user on members (user_id);

create table tokens (
  id text primary key,
  hash text not null unique,
  prefix text not null,
  name text not null,
  tenant text not null references tenants (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  scopes text not null default '[]',
  created_at int not null,
  expires_at int,
  last_used_at int,
  revoked_at int
) strict;
create index tokens_by_user on tokens (tenant, user_id);

create table agents (
  id text primary key,
  partition text not null,
  name text not null check (length(name) between 1 and 64 and name not glob '*[^a-z0-9_-]*'),
  owner text not null,
  visibility text not null default 'private' check (visibility in ('private', 'tenant', 'groups')),
  allowed_groups text not null default '[]',
  bot_class text not null,
  llm text,
  category text not null,
  description text,
  status text not null default 'active' check (status in ('active', 'disabled')),
  version int not null,
  created_at int not null,
  updated_at int not null,
  -- Last, so that lists do not walk over it.
  definition text not null,
  check (partition <> '-' or visibility = 'private'),
  unique (partition, name)
) strict;
create index agents_by_owner on agents (partition, owner);
create index agents_by_updated on agents (partition, updated_at, name);

create table agent_versions (
  agent_id text not null,
  version int not null,
  at int not null,
  by_user text not null,
  change text not null,
  record text not null,
  primary key (agent_id, version)
) strict, without rowid;

-- Toolkits and MCP servers configured for an agent.
create table agent_tooling (
  agent_id text not null references agents (id) on delete cascade,
  kind text not null check (kind in ('toolkit', 'mcp')),
  slug text not null,
  position int not null check (position >= 0),
  config text not null,
  secret_refs text not null default '{}',
  vault_owner text,
  updated_at int not null,
  primary key (agent_id, kind, slug)
) strict, without rowid;

create table sessions (
  id text primary key,
  partition text not null,
  user_id text not null,
  agent_id text not null,
  agent_name text not null,
  name text not null,
  credential text,
  agent_version int not null,
  model text,
  forked_from text,
  forked_at int,
  started_at int not null,
  last_at int not null,
  ended_at int
) strict;
-- One live session of a name per person and agent; an ended one keeps its transcript.
create unique index sessions_live on sessions (partition, user_id, agent_id, name) where ended_at is null;
create index sessions_by_name on sessions (partition, user_id, name);

create table turns (
  id text primary key,
  session_id text not null references sessions (id),
  partition text not null,
  user_id text not null,
  n int not null,
  status text not null check (status in ('running', 'waiting', 'done', 'failed', 'interrupted')),
  agent_version int not null,
  model text not null,
  key_source text not null,
  limits text not null,
  lease_owner text,
  lease_epoch int not null default 0,
  lease_until int,
  last_seq int not null default 0,
  stop_asked_by text,
  created_at int not null,
  unique (session_id, n)
) strict;
-- A session takes one turn at a time.
create unique index turns_open on turns (session_id) where status in ('running', 'waiting');

create table turn_events (
  turn_id text not null references turns (id),
  seq int not null,
  at int not null,
  epoch int not null,
  kind text not null,
  body text not null,
  primary key (turn_id, seq)
) strict, without rowid;

create table approvals (
  id text primary key,
  partition text not null,
  requested_by text not null,
  agent_id text not null,
  agent_name text not null,
  agent_version int not null,
  model text not null,
  session_id text not null,
  session_name text not null,
  turn_id text not null,
  ordinal int not null,
  tool text not null,
  slug text not null,
  method text not null,
  source text not null,
  digest text not null,
  instance_id text not null,
  args text not null,
  args_sealed text,
  args_hash text not null check (length(args_hash) = 64),
  schema text not null,
  preview text,
  rule text not null,
  deciders text not null,
  four_eyes int not null default 0,
  editable int not null default 0,
  status text not null
    check (status in ('pending', 'approved', 'rejected', 'expired', 'withdrawn', 'consumed', 'void')),
  created_at int not null,
  expires_at int not null,
  decided_by text,
  decided_at int,
  reason text,
  edited_args text,
  edited_sealed text,
  edited_hash text,
  consumed_at int,
  replaced_by text
) strict;
create index approvals_by_status on approvals (partition, status, created_at);
create index approvals_by_turn on approvals (turn_id, ordinal);
-- A call never has two approvals that could still let it run, nor runs on two.
create unique index approvals_one_live on approvals (turn_id, ordinal) where status in ('pending', 'approved', 'consumed');

create table keys (
  user_id text not null,
  provider text not null,
  sealed text not null,
  key_id int not null,
  masked text not null,
  created_at int not null,
  updated_at int not null,
  primary key (user_id, provider)
) strict, without rowid;

-- The journal. A row is written, unsealed, in the transaction of what it tells; a link is added by the sealer.
create table audit (
  id text primary key,
  partition text not null,
  at int not null,
  actor text not null,
  action text not null,
  subject text not null,
  body text not null,
  body_hash text not null
) strict;
create index audit_by_partition on audit (partition, id);

create table audit_links (
  partition text not null,
  seq int not null,
  audit_id text not null unique,
  body_hash text not null,
  prev_hash text not null,
  hash text not null,
  round int not null,
  primary key (partition, seq)
) strict, without rowid;
create index audit_links_by_round on audit_links (round);

create table audit_roots (
  round int primary key,
  at int not null,
  links int not null,
  merkle text not null,
  prev_hash text not null,
  hash text not null
) strict;

-- What is not sealed yet, so that the sealer never searches.
create table audit_unsealed (
  audit_id text primary key
) strict, without rowid;
