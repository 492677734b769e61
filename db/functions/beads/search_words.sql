-- What a search finds a thing by: its names as they are, behind a sign that no word has, and the words of a text for people. In plpgsql for the reason that bead_terms has.
create or replace function search_words(p_names text[], p_text text) returns tsvector
language plpgsql immutable parallel safe as $$
begin
  return array_to_tsvector(string_to_array('=' || lower(array_to_string(p_names, e'\n=')), e'\n'))
    || to_tsvector('simple', translate(left(p_text, 1000), './\:@_-#', '        '));
end $$;
