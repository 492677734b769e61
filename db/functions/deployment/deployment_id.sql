-- Which deployment this database is. Its own number is part of it: a copy of a database is another deployment.
create or replace function deployment_id() returns uuid language sql stable as $$
  select md5(d.id::text || (select oid::text from pg_database where datname = current_database()))::uuid from deployment d
$$;
